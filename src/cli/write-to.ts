import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { UsageFault } from './faults.ts'

type Chunks = AsyncIterable<Uint8Array>

/**
 * Writes to a file, compressed where its name ends in .gz, or to standard output. Under its name the file is there only
 * when it is whole.
 */
export async function writeTo(file: string | undefined, chunks: Chunks): Promise<void> {
  if (file === undefined) await pipeline(chunks, process.stdout, { end: false })
  else await writeWhole(file, chunks)
}

async function writeWhole(file: string, chunks: Chunks): Promise<void> {
  const part = `${file}.part`
  const target = createWriteStream(part)
  try {
    if (file.endsWith('.gz')) await pipeline(chunks, createGzip(), target)
    else await pipeline(chunks, target)
    await rename(part, file)
  } catch (error) {
    await rm(part, { force: true })
    const { code, syscall } = error as NodeJS.ErrnoException
    throw syscall === 'open' ? new UsageFault(`${file} cannot be written (${code}).`) : error
  }
}
