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
 * Writes to a file, compressed where its name ends in .gz, or to standard output. Under its name the file is there only
 * when it is whole. What is there already and is no file (a pipe, `/dev/null`) stays and is written to.
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

/** What standard output does not take is told where its errors are heard. */
async function writeOut(chunks: Chunks): Promise<void> {
  await pipeline(chunks, process.stdout, { end: false }).catch((error) => {
    if (error.syscall !== 'write') throw error
  })
}

/** Those who may not read the file that is there may not read the one in its place either. */
async function writeWhole(file: string, there: Stats | undefined, chunks: Chunks): Promise<void> {
  const place = there ? realpathSync(file) : file
  // Another command may write the same file, and what is called like it may be anybody's.
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

/** What the file system says is about the name, or the disk: whoever asked can do something about it. */
function faultOf(file: string, error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  return syscall ? new UsageFault(`${file} cannot be written (${code}).`) : error
}
