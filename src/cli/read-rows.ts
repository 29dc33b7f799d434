import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { parse } from 'csv-parse/sync'
import type { Schemas } from '../client/index.ts'
import type { Cast } from './extensions.ts'
import { UsageFault } from './faults.ts'
import type { FeedFile } from './feed-file.ts'

type Row = Schemas['AddProductsInput']['payload'][number]

/** A row and the line of the file on which it ends. */
export interface FileRow {
  row: Row
  line: number
}

/** All rows of a file of products; the cells of a CSV file are cast. Throws `UsageFault` with the line that is no row. */
export async function readRows(file: FeedFile, cast: Cast): Promise<FileRow[]> {
  const stored = await buffer(file.open())
  const text = (file.isGzip ? gunzipSync(stored) : stored).toString()
  try {
    return file.mediaType === 'text/csv' ? readCsv(text, cast) : readLines(text)
  } catch (error) {
    throw error instanceof UsageFault
      ? error
      : new UsageFault(`${file.name}: ${(error as Error).message}`)
  }
}

function readCsv(text: string, cast: Cast): FileRow[] {
  const options = { bom: true, columns: true, info: true, skip_empty_lines: true } as const
  const records = parse(text, options) as unknown as {
    record: Record<string, string>
    info: { lines: number }
  }[]
  return records.map(({ record, info }) => {
    const cells = Object.entries(record).filter(([, cell]) => cell !== '')
    const row = cells.map(([name, cell]) => [name, name === 'code' ? cell : cast(name, cell)])
    return { row: Object.fromEntries(row), line: info.lines }
  })
}

function readLines(text: string): FileRow[] {
  return text.split('\n').flatMap((content, index) => {
    if (content.trim() === '') return []
    try {
      return [{ row: JSON.parse(content), line: index + 1 }]
    } catch (error) {
      throw new Error(`line ${index + 1}: ${(error as Error).message}`)
    }
  })
}
