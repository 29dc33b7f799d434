import { once } from 'node:events'
import { createReadStream, createWriteStream, type WriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { finished } from 'node:stream/promises'
import { Stream } from '../../contract/operation.ts'
import type { RequestError } from '../../contract/problem.ts'
import { unescapePointer } from '../../contract/row-errors.ts'
import type { StagedFault } from '../../contract/staged-faults.ts'
import { csvLine } from './csv-text.ts'
import { errorColumn, type FileRow, type RowSource } from './feed-rows.ts'
import { keyOf, membersOf } from './json-members.ts'

/**
 * The rows of a file, kept on disk while they are checked, to be answered with what is wrong with each. Where the disk
 * does not take them all they are gone, and the check goes on.
 */
export class RejectedRows {
  readonly #mediaType: string
  readonly #directory: string
  readonly #onFault: (cause: unknown) => void
  readonly #written: WriteStream
  #header: readonly string[] = []
  #late = new Map<number, string>()
  /** Whether all rows of the file are there. */
  isWhole = false

  private constructor(mediaType: string, directory: string, onFault: (cause: unknown) => void) {
    this.#mediaType = mediaType
    this.#directory = directory
    this.#onFault = onFault
    this.#written = createWriteStream(join(directory, 'rows'))
    this.#written.on('error', (cause) => {
      onFault(cause)
      // Others need the room more than half a file.
      void this.delete()
    })
  }

  /** Opens an empty file, if there may be one; `delete` must be called at last. `onFault` is told what the disk refuses. */
  static async open(
    mediaType: string,
    onFault: (cause: unknown) => void,
  ): Promise<RejectedRows | undefined> {
    const directory = await mkdtemp(join(tmpdir(), 'pricewell-feed-')).catch(onFault)
    return directory === undefined ? undefined : new RejectedRows(mediaType, directory, onFault)
  }

  /** Notes the header record. */
  begin(header: readonly string[]): void {
    this.#header = header
  }

  /** Adds rows, the first of them at `first`, and what is wrong with them. */
  async add(batch: readonly FileRow[], faults: readonly RequestError[], first: number) {
    const byRow = Map.groupBy(faults, ({ row }) => row)
    const lines = batch.map(({ source }, index) => {
      const said = byRow
        .get(first + index)
        ?.map(wording)
        .join('; ')
      return `${inOneLine(JSON.stringify([source, said ?? '']))}\n`
    })
    if (this.#written.destroyed || this.#written.write(lines.join(''))) return
    await once(this.#written, 'drain').catch(() => undefined)
  }

  /** Ends the rows, with what was found when all were there. */
  async end(late: readonly StagedFault[]): Promise<void> {
    for (const fault of late) {
      const early = this.#late.get(fault.position)
      const said = wording({ ...fault, field: unescapePointer(fault.field) })
      this.#late.set(fault.position, early ? `${early}; ${said}` : said)
    }
    this.#written.end()
    this.isWhole = await finished(this.#written).then(
      () => true,
      () => false,
    )
  }

  /** The rows as a file of the same type, each with its `error`; they are deleted when it is sent. */
  answer(): Stream {
    return new Stream(`${this.#mediaType}; charset=utf-8`, (gone) => {
      gone.addEventListener('abort', () => void this.delete())
      return this.#lines()
    })
  }

  /** Removes the rows from the disk. */
  async delete(): Promise<void> {
    // A file that is still being opened would be there again.
    const closed = this.#written.closed || once(this.#written.destroy(), 'close')
    await Promise.resolve(closed).catch(() => undefined)
    await rm(this.#directory, { recursive: true, force: true }).catch(this.#onFault)
  }

  async *#lines(): AsyncGenerator<string> {
    const header = withoutError(this.#header, this.#header)
    if (this.#mediaType === 'text/csv') yield csvLine([...header, errorColumn])
    const rows = createInterface({ input: createReadStream(join(this.#directory, 'rows')) })
    let row = 0
    for await (const text of rows) {
      const [source, early] = JSON.parse(text) as [RowSource, string]
      const said = [early, this.#late.get(row++) ?? ''].filter(Boolean).join('; ')
      yield typeof source === 'string'
        ? jsonLine(source, said)
        : csvLine([...padded(withoutError(source, this.#header), header.length), said])
    }
  }
}

/** The JSON without what JSON takes for a character and who reads lines for the end of one. */
function inOneLine(json: string): string {
  return json.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
}

function wording({ field, message }: { field?: string; message: string }): string {
  return field ? `${field}: ${message}` : message
}

/** The error of a row that is too short stands in its column all the same. */
function padded(fields: string[], width: number): string[] {
  return fields.length < width ? [...fields, ...Array(width - fields.length).fill('')] : fields
}

/** A file that came back has the error last, also in a row with too many fields. */
function withoutError(fields: readonly string[], header: readonly string[]): string[] {
  const column = header.indexOf(errorColumn)
  const isLast = column >= 0 && column === header.length - 1
  const place = isLast ? Math.max(column, fields.length - 1) : column
  return fields.filter((_, index) => index !== place)
}

/** The row with its error; what is no JSON object cannot carry one and stands beside it as a text. */
function jsonLine(source: string, error: string): string {
  const row = asObject(source)
  if (!row) return `${JSON.stringify({ row: source, error })}\n`
  if (error === '' && row.error === undefined) return `${source}\n`
  // They stay as they were sent: a key may be there twice, a number may have more digits than can be kept.
  const members = membersOf(source).filter((member) => keyOf(member) !== errorColumn)
  if (error !== '') members.push(`"error":${JSON.stringify(error)}`)
  return `{${members.join(',')}}\n`
}

function asObject(source: string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(source)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}
