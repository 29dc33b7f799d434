import { createWriteStream, realpathSync, type Stats, statSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { UsageFault } from './faults.ts'

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
    if (there && !there.isFile()) await write(file, file, chunks)
    else await writeWhole(file, there ? realpathSync(file) : file, chunks)
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

async function writeWhole(file: string, place: string, chunks: Chunks): Promise<void> {
  const part = `${place}.part`
  try {
    await write(file, part, chunks)
    await rename(part, place)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}

async function write(file: string, target: string, chunks: Chunks): Promise<void> {
  const stream = createWriteStream(target)
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
