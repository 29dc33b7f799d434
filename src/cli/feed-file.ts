import { accessSync, constants, createReadStream, readFileSync, statSync } from 'node:fs'
import { pipeline, Readable } from 'node:stream'
import { createGunzip, gunzipSync } from 'node:zlib'
import { endOfString } from '../contract/json-scanner.ts'
import { UsageFault } from './faults.ts'

/** A file of rows to send. */
export interface FeedFile {
  name: string
  mediaType: 'text/csv' | 'application/x-ndjson'
  isGzip: boolean
  /** Whether it is a JSON array, whose rows are sent as lines. */
  isArray?: true
  /** The size of the file in bytes, for progress; 0 if unknown. */
  bytes: number
  /** The Content-Length; undefined if unknown before the end. */
  length: number | undefined
  shape: CsvShape
  /** Reads the content to send from the beginning. Throws `UsageFault` if the file is gone or has another length. */
  open: () => AsyncIterable<Buffer>
  /** Like `open`, but decompressed. */
  decoded: () => AsyncIterable<Buffer>
  /** The user's file, decompressed; undefined if it can be read only once. */
  original: (() => AsyncIterable<Buffer>) | undefined
}

/** How a CSV file differs from the format that the service accepts. */
export interface CsvShape {
  delimiter: string
  /** The service's column names by the user's. */
  columns: ReadonlyMap<string, string>
  /** The user's names of columns to leave out. */
  without: readonly string[]
  /** The numbers of these columns, ascending; filled when the header is read. */
  leftOut: Set<number>
  /** Whether a column of the service holds numbers, which the file writes with a decimal comma. */
  isNumeric?: ((column: string) => boolean) | undefined
}

/** CSV in the format that the service accepts. */
export const plainShape: CsvShape = {
  delimiter: ',',
  columns: new Map(),
  without: [],
  leftOut: new Set(),
}

export const mediaTypes = { csv: 'text/csv', ndjson: 'application/x-ndjson' } as const

export type Format = keyof typeof mediaTypes

const formats = { ...mediaTypes, jsonl: mediaTypes.ndjson }

const ending = /\.(csv|ndjson|jsonl|json)(\.gz)?$/i

/** Opens a CSV, NDJSON or JSON file, compressed or not, by its file extension. Throws `UsageFault`. */
export function openFeedFile(name: string): FeedFile {
  const [, format = '', gz] = ending.exec(name) ?? []
  const isGzip = gz !== undefined
  const { size, isFile } = describe(name)
  if (!isFile) throw new UsageFault(`${name} is not a file.`)
  if (format === '')
    throw new UsageFault(
      `${name} does not end in .csv, .ndjson, .jsonl or .json (or these with .gz): save a workbook as CSV UTF-8.`,
    )
  if (format.toLowerCase() === 'json') return fromArray(name, size, isGzip)
  const mediaType = formats[format.toLowerCase() as keyof typeof formats]
  const open = reading(name, { size, bytes: size }, () => createReadStream(name))
  const decoded = isGzip ? () => unzipped(name, open()) : open
  const reads = { open, decoded, original: decoded }
  return { name, mediaType, isGzip, bytes: size, length: size, shape: plainShape, ...reads }
}

async function* unzipped(name: string, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const engine = createGunzip()
  pipeline(Readable.from(chunks), engine, () => undefined)
  try {
    yield* engine as AsyncIterable<Buffer>
  } catch (error) {
    throw error instanceof UsageFault ? error : brokenGzip(name)
  }
}

/** Throws `UsageFault` if the rejected rows would replace the file itself, or their file is of another format. */
export function rejectTarget(rejects: string, { name, mediaType }: FeedFile): void {
  if (isSameFile(rejects, name))
    throw new UsageFault(`--rejects would replace ${name}: name another file.`)
  const [, format] = ending.exec(rejects.toLowerCase()) ?? []
  if (format === undefined || (formats as Record<string, string>)[format] === mediaType) return
  const [text, end] = mediaType === 'text/csv' ? ['CSV', '.csv'] : ['NDJSON', '.ndjson']
  throw new UsageFault(`The rejected rows of ${name} are ${text}: make ${rejects} end in ${end}.`)
}

/** Whether two names refer to the same file. */
function isSameFile(one: string, other: string): boolean {
  const [a, b] = [one, other].map((name) => statSync(name, { throwIfNoEntry: false }))
  return a !== undefined && a.dev === b?.dev && a.ino === b.ino
}

/** Reads a file of `size` bytes, sent as `bytes` bytes. Throws before sending anything if the size has changed. */
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

/** Passes chunks through; their total length must be `bytes`, the Content-Length. */
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

const changed = (name: string) => new UsageFault(`${name} changed while it was being read.`)

/** The `UsageFault` of a file that cannot be read; a `UsageFault` is returned as it is. */
export function unreadable(name: string, error: unknown): unknown {
  if (error instanceof UsageFault) return error
  return new UsageFault(`${name} cannot be read (${(error as NodeJS.ErrnoException).code}).`)
}

/** Sends a JSON array as NDJSON, so that rows and lines agree. Keeps nothing in memory between checking and sending. */
function fromArray(name: string, size: number, isGzip: boolean): FeedFile {
  const bytes = checkArray(name, isGzip)
  const open = reading(name, { size, bytes }, () => lines(name, isGzip))
  const reads = { open, decoded: open, original: open }
  const sent = { mediaType: mediaTypes.ndjson, isGzip: false, isArray: true } as const
  return { name, ...sent, bytes, length: bytes, shape: plainShape, ...reads }
}

async function* lines(name: string, isGzip: boolean): AsyncGenerator<Buffer> {
  yield readArray(name, isGzip)
}

/** The largest JSON file, because it is held in memory as a whole. */
const bytesMax = 256 * 1024 * 1024

/** Throws `UsageFault` unless the file is a JSON array. Returns its length as NDJSON. */
function checkArray(name: string, isGzip: boolean): number {
  const text = readText(name, isGzip)
  parseArray(name, text, 'rows')
  return Buffer.byteLength(asLines(text))
}

/** Parses the JSON array of a file. Throws `UsageFault`. */
export function parseArray(name: string, text: string, items: string): unknown[] {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (error) {
    throw new UsageFault(`${name} is not valid JSON: ${(error as Error).message}`)
  }
  if (Array.isArray(parsed)) return parsed
  throw new UsageFault(`${name} is not a JSON array of ${items}.`)
}

function readArray(name: string, isGzip: boolean): Buffer {
  return Buffer.from(asLines(readText(name, isGzip)))
}

function readText(name: string, isGzip: boolean): string {
  if (statSync(name).size > bytesMax) throw tooLarge(name)
  const stored = readFileSync(name)
  const bytes = isGzip ? unzip(name, stored) : stored
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new UsageFault(`${name} is not valid UTF-8.`)
  }
}

function unzip(name: string, bytes: Buffer): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: bytesMax })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(name)
    throw brokenGzip(name)
  }
}

function brokenGzip(name: string): UsageFault {
  return new UsageFault(`${name} is not complete, valid gzip.`)
}

function tooLarge(name: string): UsageFault {
  return new UsageFault(
    `${name} is larger than ${bytesMax / 1024 / 1024} MB: make it NDJSON, one row per line.`,
  )
}

/**
 * The rows of a JSON array, one per line, as written: the service is to refuse numbers with too many digits and
 * repeated keys.
 */
function asLines(text: string): string {
  let lines = ''
  let depth = 0
  let start = text.indexOf('[') + 1
  for (let at = start; at < text.length; at++) {
    const token = text[at]
    if (token === '"') at = endOfString(text, at) - 1
    else if (token === '[' || token === '{') depth++
    else if (depth > 0 && (token === ']' || token === '}')) depth--
    else if (depth === 0 && (token === ',' || token === ']')) {
      lines += lineOf(text.slice(start, at))
      start = at + 1
    }
  }
  return lines
}

/** Removes line breaks; JSON strings contain none. */
function lineOf(row: string): string {
  const line = row.replace(/[\r\n]+/g, ' ').trim()
  return line && `${line}\n`
}
