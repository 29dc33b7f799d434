import { randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Stream } from '../contract/operation.ts'
import type { RequestError } from '../contract/problem.ts'
import { unescapePointer } from '../contract/row-errors.ts'
import { sendPieces } from '../contract/send-pieces.ts'
import { type StagedFault, stagedFaultsMax } from '../contract/staged-faults.ts'
import { Shares } from '../lib/shares.ts'
import { csvLine } from './csv-cell.ts'
import { rowWithError, withoutError, wording } from './row-with-error.ts'
import { errorColumn, type FileRow, type RowSource } from './rows.ts'

/** Files of rows that the disk of the process has at once, from their first row until they are answered. */
const places = new Shares(4)

/** A client that takes nothing for so long is let go: others wait for its place on the disk. */
const stalledMs = 30_000

/** Whose file it is, and who is told why it cannot be kept. */
interface RowsOptions {
  mediaType: string
  account: number
  /** Told what the disk refuses. */
  onFault: (cause: unknown) => void
}

/**
 * The rows of a file, kept on disk while they are checked, to be answered with what is wrong with each. Where the disk
 * does not take them all, or has as many files already, or more is wrong than anyone corrects by hand, they are gone, and
 * the check goes on.
 */
export class RejectedRows {
  readonly #options: RowsOptions
  #header: readonly string[] = []
  #late = new Map<number, string>()
  #file: FileHandle | undefined
  #leave = () => {}
  #told = 0
  /** Whether all rows of the file are there. */
  isWhole = false

  constructor(options: RowsOptions) {
    this.#options = options
  }

  /** Notes the header record; there is a file from now on, if there may be one, and `delete` must be called at last. */
  async begin(header: readonly string[]): Promise<void> {
    const { account, onFault } = this.#options
    this.#header = header
    if (!places.hasRoom(account, 1)) return
    const leave = places.take(account, 1)
    this.#leave = leave
    const file = await openNameless().catch(onFault)
    if (file) this.#file = file
    else leave()
  }

  /** Whether the rows so far are there. */
  get isKept(): boolean {
    return this.#file !== undefined
  }

  /** Adds rows, the first of them at `first`, and what is wrong with them. */
  async add(batch: readonly FileRow[], faults: readonly RequestError[], first: number) {
    this.#told += faults.length
    if (this.#told > stagedFaultsMax) await this.delete()
    if (!this.#file) return
    const byRow = Map.groupBy(faults, ({ row }) => row)
    const lines = batch.map(({ source }, index) => {
      const said = byRow
        .get(first + index)
        ?.map(wording)
        .join('; ')
      return `${inOneLine(JSON.stringify([source, said ?? '']))}\n`
    })
    await this.#file.appendFile(lines.join('')).catch((cause) => this.#giveUp(cause))
  }

  /** Others need the room more than half a file. */
  async #giveUp(cause: unknown): Promise<void> {
    if (this.#file) this.#options.onFault(cause)
    await this.delete()
  }

  /** Ends the rows, with what was found when all were there. */
  end(late: readonly StagedFault[]): void {
    for (const fault of late) {
      const early = this.#late.get(fault.position)
      const said = wording({ ...fault, field: unescapePointer(fault.field) })
      this.#late.set(fault.position, early ? `${early}; ${said}` : said)
    }
    this.isWhole = this.#file !== undefined
  }

  /** The rows as a file of the same type, each with its `error`; they are deleted when it is sent. */
  answer(): Promise<Stream> {
    const contentType = `${this.#options.mediaType}; charset=utf-8`
    return new Promise((answer) => {
      const write = () => this.#lines()
      void sendPieces({ contentType, stalledMs, write, answer }).finally(() => this.delete())
    })
  }

  /** Removes the rows from the disk. */
  async delete(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    if (!file) return
    await file.close().catch(this.#options.onFault)
    this.#leave()
  }

  async *#lines(): AsyncGenerator<string> {
    const header = withoutError(this.#header, this.#header)
    if (this.#options.mediaType === 'text/csv') yield csvLine([...header, errorColumn])
    let row = 0
    for await (const text of this.#file ? linesOf(this.#file) : []) {
      const [source, early] = JSON.parse(text) as [RowSource, string]
      const said = [early, this.#late.get(row++) ?? ''].filter(Boolean).join('; ')
      yield rowWithError(source, said, this.#header)
    }
    // Before its end is sent: whoever has all of it may send the next file.
    await this.delete()
  }
}

/** A file that has no name: it is gone with the process, however that ends. */
async function openNameless(): Promise<FileHandle> {
  const path = join(tmpdir(), `pricewell-feed-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  await unlink(path)
  return file
}

/** Its lines. Node's own reader of lines holds a thousand of them, and leaves the file open when it is left. */
async function* linesOf(file: FileHandle): AsyncGenerator<string> {
  let rest = ''
  for await (const piece of file.createReadStream({
    start: 0,
    encoding: 'utf8',
    autoClose: false,
  })) {
    const lines = `${rest}${piece}`.split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}

/** The JSON without what JSON takes for a character and who reads lines for the end of one. */
function inOneLine(json: string): string {
  return json.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
}
