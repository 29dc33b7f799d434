import { mapInTurns } from '../contract/in-turns.ts'
import { Problem } from '../contract/problem.ts'
import type { MatchingRow } from './matching-rows.ts'
import type { WritePriceRow } from './price-rows.ts'
import type { WantedRow } from './wanted-rows.ts'

/** Rows of an answer as JSON, in pieces without the brackets and commas around them. */
export interface WrittenRows {
  texts: string[]
  rows: number
}

/** The rows that were found, as JSON with commas between them. */
export async function writeRows(
  wanted: WantedRow[],
  found: MatchingRow[],
  write: WritePriceRow,
): Promise<string> {
  const rows = await mapInTurns(found, (match) => write(wanted[match.at] as WantedRow, match))
  return rows.join(',')
}

/** Throws `result-too-large` for a read of `size` rows, if it may have `rowsMax`. */
export function rejectTooLarge(size: number, rowsMax: number): void {
  if (size <= rowsMax) return
  const detail = `A read expands to at most ${rowsMax} rows, this one to ${size}. Name more of code, extensions and attributes.`
  throw new Problem('result-too-large', detail)
}
