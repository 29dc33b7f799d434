import { sql } from 'kysely'
import { diagnose } from '../contract/json-diagnosis.ts'
import { Problem, type RequestError } from '../contract/problem.ts'
import { unescapePointer } from '../contract/row-errors.ts'
import type { StagedFault } from '../contract/staged-faults.ts'
import type { Trx } from '../database/pool.ts'
import { allStaged } from '../database/staging-table.ts'
import { csvLine, escapeFormula } from './csv-cell.ts'
import { errorColumn, type FileRow, type RowSource } from './rows.ts'

const rowsMax = 10_000
const bytesMax = 16 * 1024 * 1024

/** The column of staged rows that holds their text, because some turn out to be bad only after all were read. */
export const sourceColumn = { name: 'file_row', type: 'text' } as const

const ofRows = ['invalid-request', 'stale-rows', 'guardrail-violated']

/** Whether a refusal is about rows: faulty rows, stale rows, or rows that violate a guardrail. */
export const isOfRows = (refusal: unknown): refusal is Problem =>
  refusal instanceof Problem && ofRows.includes(refusal.type)

interface Rejected {
  row: number
  /** The row as in the file; of a CSV row, its cells without line end and earlier error. */
  source: string
  cells: number
  error: string
}

type LateFault = Pick<StagedFault, 'position' | 'message'> & { field?: string }

/** The rejected rows of a file in the file's format, each with its `error`: the first 10,000, at most 16 MB. */
export class RejectedRows {
  readonly mediaType: string
  #header: readonly string[] = []
  #rows: Rejected[] = []
  #bytes = 0

  constructor(mediaType: string) {
    this.mediaType = mediaType
  }

  /** Sets the header record; empty for NDJSON. */
  begin(header: readonly string[]): void {
    this.#header = header
  }

  get isEmpty(): boolean {
    return this.#rows.length === 0
  }

  /** Whether later rows would be left out. */
  get isFull(): boolean {
    return this.#rows.length >= rowsMax || this.#bytes > bytesMax
  }

  /** Adds the bad rows of a batch whose first row is `first`. */
  add(batch: readonly FileRow[], faults: readonly RequestError[], first: number): void {
    for (const [row = 0, said] of Map.groupBy(faults, (fault) => fault.row)) {
      const source = batch[row - first]?.source
      if (source === undefined || this.isFull) return
      const cells = typeof source === 'string' ? 0 : this.#fieldsOf(source).length
      this.#addRow(row, this.textOf(source), said, cells)
    }
  }

  /** Adds rows that turned out to be bad once all were staged. */
  async addStaged(trx: Trx, faults: readonly LateFault[]): Promise<void> {
    const byRow = Map.groupBy(faults, ({ position }) => position)
    for (const { position, source } of await readSources(trx, [...byRow.keys()])) {
      const said = byRow.get(position) ?? []
      const named = said.map(({ field = '', message }) => ({
        field: unescapePointer(field),
        message,
      }))
      this.#addRow(position, source, named)
    }
  }

  /** Adds the rows for which the write was refused, if `refusal` is about rows. */
  async addRefused(trx: Trx, refusal: unknown): Promise<void> {
    if (!isOfRows(refusal)) return
    const { errors = [] } = refusal.options
    const faults = errors.flatMap(({ row: position, message }) =>
      position === undefined ? [] : { position, message },
    )
    await this.addStaged(trx, faults)
  }

  /** Returns the text of a row, without its line end and the error from an earlier response. */
  textOf(source: RowSource): string {
    if (typeof source === 'string') return source
    return csvLine(this.#fieldsOf(source)).slice(0, -2)
  }

  /** The rejected rows as a file, in the order of the original. */
  get file(): string {
    const rows = this.#rows.sort((a, b) => a.row - b.row).slice(0, rowsMax)
    const width = Math.max(this.#headings, ...rows.map(({ cells }) => cells))
    let file = this.#headerOf(width)
    let bytes = 0
    for (const rejected of rows) {
      const text = this.#lineOf(rejected, width)
      bytes += Buffer.byteLength(text)
      if (bytes > bytesMax) break
      file += text
    }
    return file
  }

  /** The header, with empty headings for values that have none, so that `error` stands above the errors. */
  #headerOf(width: number): string {
    if (this.mediaType !== 'text/csv') return ''
    const header = this.#fieldsOf(this.#header)
    const empty = Array.from({ length: width - header.length }, () => '')
    return csvLine([...header, ...empty, errorColumn])
  }

  #lineOf({ source, cells, error }: Rejected, width: number): string {
    if (this.mediaType !== 'text/csv') return `${jsonWithError(source, error)}\n`
    return `${source}${','.repeat(width - cells)},${csvLine([escapeFormula(error)])}`
  }

  /** The cells of a record without its error from an earlier response, and without empty ones beyond the headings. */
  #fieldsOf(record: readonly string[]): string[] {
    const headings = this.#headings
    const place = this.#header.indexOf(errorColumn)
    const fields = record.filter((_, index) => index !== place)
    while (fields.length > headings && fields.at(-1) === '') fields.pop()
    while (fields.length < headings) fields.push('')
    return fields
  }

  get #headings(): number {
    return this.#header.filter((name) => name !== errorColumn).length
  }

  #addRow(row: number, source: string, faults: readonly Fault[], cells = this.#headings): void {
    const error = faults.map(wording).join('; ')
    this.#rows.push({ row, source, cells, error })
    this.#bytes += Buffer.byteLength(source) + Buffer.byteLength(error)
  }
}

/** The texts of staged rows: the first ones, as many as fit into a response. */
async function readSources(
  trx: Trx,
  positions: readonly number[],
): Promise<{ position: number; source: string }[]> {
  if (positions.length === 0) return []
  const source = sql.ref(sourceColumn.name)
  const { rows } = await sql<{ position: number; source: string }>`
    select position, source from (
      select position, ${source} as source,
        sum(octet_length(${source})) over (order by position) as bytes
      from ${allStaged} where position = any(${positions}::integer[])
    ) as named
    where bytes <= ${bytesMax} order by position`.execute(trx)
  return rows
}

interface Fault {
  field?: string
  message: string
}

function wording({ field, message }: Fault): string {
  return field ? `${field}: ${message}` : message
}

/** A row that is not a JSON object cannot carry its error, so it becomes text beside it. */
function jsonWithError(source: string, error: string): string {
  if (!isJsonObject(source)) return JSON.stringify({ row: source, error })
  // Members stay as sent: a key may occur twice, a number may have more digits than JavaScript keeps.
  const others = diagnose(source).members.filter(({ key }) => key !== errorColumn)
  const members = [...others.map(({ text }) => text), `"error":${JSON.stringify(error)}`]
  return `{${members.join(',')}}`
}

function isJsonObject(source: string): boolean {
  try {
    return source.trimStart().startsWith('{') && JSON.parse(source) !== undefined
  } catch {
    return false
  }
}
