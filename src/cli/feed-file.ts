import { accessSync, constants, createReadStream, statSync } from 'node:fs'
import { UsageFault } from './faults.ts'
import { checkArray, readArray } from './json-array.ts'

/** A file of rows as the service takes it. */
export interface FeedFile {
  name: string
  mediaType: 'text/csv' | 'application/x-ndjson'
  isGzip: boolean
  /** As it travels. */
  bytes: number
  /** Reads it from its beginning. Throws `UsageFault` where it is there no more, or has another length. */
  open: () => AsyncIterable<Buffer>
}

const formats = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
  jsonl: 'application/x-ndjson',
} as const

const ending = /\.(csv|ndjson|jsonl|json)(\.gz)?$/i

/** Opens a CSV, NDJSON or JSON file, compressed or not, by the end of its name. Throws `UsageFault`. */
export function openFeedFile(name: string): FeedFile {
  const [, format = '', gz] = ending.exec(name) ?? []
  const isGzip = gz !== undefined
  const { size, isFile } = describe(name)
  if (!isFile) throw new UsageFault(`${name} is no file.`)
  if (format === '')
    throw new UsageFault(
      `${name} ends neither in .csv, .ndjson, .jsonl nor .json (nor these with .gz).`,
    )
  if (format.toLowerCase() === 'json') return fromArray(name, size, isGzip)
  const mediaType = formats[format.toLowerCase() as keyof typeof formats]
  const open = reading(name, { size, bytes: size }, () => createReadStream(name))
  return { name, mediaType, isGzip, bytes: size, open }
}

/** Throws `UsageFault` where rejected rows of the file could not be loaded from a file of that name. */
export function rejectMisnamed(rejects: string, { name, mediaType }: FeedFile): void {
  const [, format] = ending.exec(rejects.toLowerCase()) ?? []
  if (format === undefined || (formats as Record<string, string>)[format] === mediaType) return
  const [text, end] = mediaType === 'text/csv' ? ['CSV', '.csv'] : ['NDJSON', '.ndjson']
  throw new UsageFault(`The rejected rows of ${name} are ${text}: let ${rejects} end in ${end}.`)
}

/**
 * Reads a file that had `size` bytes and travels as so many. That it has another size is found before it is sent: a
 * connection that breaks at once would hide what its bytes show.
 */
function reading(
  name: string,
  { size, bytes }: { size: number; bytes: number },
  read: () => AsyncIterable<Buffer>,
): FeedFile['open'] {
  return () => {
    if (describe(name).size !== size) throw changed(name)
    return whole(name, bytes, read)
  }
}

/** The chunks as they come. Who sends them has said before how long they are. */
async function* whole(
  name: string,
  bytes: number,
  read: () => AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  let left = bytes
  try {
    for await (const chunk of read()) {
      left -= chunk.length
      if (left < 0) throw changed(name)
      yield chunk
    }
    if (left > 0) throw changed(name)
  } catch (error) {
    throw unreadable(name, error)
  }
}

function describe(name: string): { size: number; isFile: boolean } {
  try {
    const stats = statSync(name)
    accessSync(name, constants.R_OK)
    return { size: stats.size, isFile: stats.isFile() }
  } catch (error) {
    throw unreadable(name, error)
  }
}

const changed = (name: string) => new UsageFault(`${name} has changed while it was read.`)

function unreadable(name: string, error: unknown): unknown {
  if (error instanceof UsageFault) return error
  return new UsageFault(`${name} cannot be read (${(error as NodeJS.ErrnoException).code}).`)
}

/** A JSON array travels as NDJSON: row and line are the same then. It is read when it is sent: there may be many. */
function fromArray(name: string, size: number, isGzip: boolean): FeedFile {
  const bytes = checkArray(name, isGzip)
  const open = reading(name, { size, bytes }, () => lines(name, isGzip))
  return { name, mediaType: 'application/x-ndjson', isGzip: false, bytes, open }
}

async function* lines(name: string, isGzip: boolean): AsyncGenerator<Buffer> {
  yield readArray(name, isGzip)
}
