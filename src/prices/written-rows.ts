import { Problem } from '../contract/problem.ts'
import { mapInTurns } from '../lib/in-turns.ts'
import type { MatchingRow } from './matching-rows.ts'
import type { WritePriceRow } from './price-rows.ts'
import type { WantedRow } from './wanted-rows.ts'

/** Rows of an answer as JSON, in pieces without the brackets and commas around them. */
export interface WrittenRows {
  texts: string[]
  rows: number
}

/** A longer answer is sent while it is read: 100,000 rows that 100 promotions cover would be 400 MB. */
const heldLengthMax = 64_000_000

/** Writes rows of an answer that is held until it is whole, and no more of them once it is too long for that. */
export class HeldRows {
  readonly #write: WritePriceRow
  #length = 0

  constructor(write: WritePriceRow) {
    this.#write = write
  }

  get areTooLong(): boolean {
    return this.#length > heldLengthMax
  }

  /** The rows that were found, as JSON with commas between them. */
  async write(wanted: WantedRow[], found: MatchingRow[]): Promise<string> {
    const rows = await mapInTurns(found, (match) =>
      this.#writeRow(wanted[match.at] as WantedRow, match),
    )
    return rows.join(',')
  }

  #writeRow(wanted: WantedRow, match: MatchingRow): string {
    if (this.areTooLong) return ''
    const text = this.#write(wanted, match)
    this.#length += text.length
    return text
  }
}

/** Throws `result-too-large` for a read of `size` rows, if it may have `rowsMax`. */
export function rejectTooLarge(size: number, rowsMax: number): void {
  if (size <= rowsMax) return
  const detail = `A read expands to at most ${rowsMax} rows, this one to ${size}. Name more of code, extensions and attributes.`
  throw new Problem('result-too-large', detail)
}
