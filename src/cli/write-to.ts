import { randomBytes } from 'node:crypto'
import { createWriteStream, realpathSync, rmSync, type Stats, statSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { UsageFault } from './faults.ts'
import { endingWith } from './terminal.ts'

type Chunks = AsyncIterable<Uint8Array>

/**
 * Writes to a file, compressed if its name ends in .gz, or to standard output. The file appears under its name only
 * when complete; a pipe or device is written to directly. Throws `UsageFault`.
 */
export async function writeTo(file: string | undefined, chunks: Chunks): Promise<void> {
  if (file === undefined) return writeOut(chunks)
  try {
    const there = statSync(file, { throwIfNoEntry: false })
    rejectFolder(file, there)
    if (there && !there.isFile()) await write(file, createWriteStream(file), chunks)
    else await writeWhole(file, there, chunks)
  } catch (error) {
    throw faultOf(file, error)
  }
}

/** Ignores write errors of standard output, which `main` reports. */
async function writeOut(chunks: Chunks): Promise<void> {
  await pipeline(chunks, process.stdout, { end: false }).catch((error) => {
    if (error.syscall !== 'write') throw error
  })
}

/** Gives the new file the mode of the one it replaces. */
async function writeWhole(file: string, there: Stats | undefined, chunks: Chunks): Promise<void> {
  const place = there ? realpathSync(file) : file
  // A random name, because another command may write the same file.
  const part = `${place}.${randomBytes(4).toString('hex')}.part`
  const mode = there && there.mode & 0o777
  const handle = await open(part, 'wx', mode)
  const removePart = () => rmSync(part, { force: true })
  const forgetEnd = endingWith(removePart)
  try {
    if (mode !== undefined) await handle.chmod(mode)
    await write(file, handle.createWriteStream(), chunks)
    await rename(part, place)
  } catch (error) {
    removePart()
    throw error
  } finally {
    forgetEnd()
  }
}

async function write(file: string, stream: Writable, chunks: Chunks): Promise<void> {
  if (/\.gz$/i.test(file)) await pipeline(chunks, createGzip(), stream)
  else await pipeline(chunks, stream)
}

function rejectFolder(file: string, there: Stats | undefined): void {
  if (there?.isDirectory()) throw new UsageFault(`${file} is a folder: name a file in it.`)
}

/** Turns file system errors into UsageFaults. */
function faultOf(file: string, error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  return syscall ? new UsageFault(`${file} cannot be written (${code}).`) : error
}
