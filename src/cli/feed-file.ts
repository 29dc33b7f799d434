import { createHash } from 'node:crypto'
import { accessSync, constants, createReadStream, readFileSync, statSync } from 'node:fs'
import { Readable } from 'node:stream'
import { gunzipSync } from 'node:zlib'
import { UsageFault } from './faults.ts'

/** A file of rows as the service takes it. */
export interface FeedFile {
  name: string
  mediaType: 'text/csv' | 'application/x-ndjson'
  isGzip: boolean
  /** As it travels. */
  bytes: number
  /** Reads it from its beginning. */
  open: () => Readable
}

const formats = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
  jsonl: 'application/x-ndjson',
} as const

/** Opens a CSV, NDJSON or JSON file, compressed or not, by the end of its name. Throws `UsageFault`. */
export function openFeedFile(name: string): FeedFile {
  const [, format = '', gz] = /\.(csv|ndjson|jsonl|json)(\.gz)?$/i.exec(name) ?? []
  const isGzip = gz !== undefined
  const { size, isFile } = describe(name)
  if (!isFile) throw new UsageFault(`${name} is no file.`)
  if (format === '')
    throw new UsageFault(
      `${name} ends neither in .csv, .ndjson, .jsonl nor .json (nor these with .gz).`,
    )
  if (format.toLowerCase() === 'json') return fromArray(name, isGzip)
  const mediaType = formats[format.toLowerCase() as keyof typeof formats]
  return { name, mediaType, isGzip, bytes: size, open: () => createReadStream(name) }
}

/** SHA-256 of the content and of what it is loaded into: the same load has the same, whatever the file is called. */
export async function fingerprint({ mediaType, open }: FeedFile, into: string): Promise<string> {
  const hash = createHash('sha256').update(`${into}\n${mediaType}\n`)
  for await (const chunk of open()) hash.update(chunk)
  return hash.digest('hex')
}

function describe(name: string): { size: number; isFile: boolean } {
  try {
    const stats = statSync(name)
    accessSync(name, constants.R_OK)
    return { size: stats.size, isFile: stats.isFile() }
  } catch (error) {
    throw new UsageFault(`${name} cannot be read (${(error as { code?: string }).code}).`)
  }
}

/** A JSON array travels as NDJSON: row and line are the same then. */
function fromArray(name: string, isGzip: boolean): FeedFile {
  const stored = readFileSync(name)
  let rows: unknown
  try {
    rows = JSON.parse((isGzip ? gunzipSync(stored) : stored).toString())
  } catch (error) {
    throw new UsageFault(`${name} is no JSON: ${(error as Error).message}`)
  }
  if (!Array.isArray(rows)) throw new UsageFault(`${name} is no JSON array of rows.`)
  const content = Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  return {
    ...{ name, mediaType: 'application/x-ndjson', isGzip: false },
    ...{ bytes: content.length, open: () => Readable.from([content]) },
  }
}
