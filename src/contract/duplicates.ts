import { isDeepStrictEqual } from 'node:util'
import { mapInTurns, sortInTurns } from '../lib/cooperative.ts'
import type { RowErrors } from './row-errors.ts'

/** A row of the payload and where it stands there. */
export interface Positioned<T> {
  row: T
  position: number
}

/**
 * The rows with each key once, sorted by key (concurrent batches in one order cannot deadlock). Equal rows count once;
 * rows that share a key and differ are errors that name both indexes, unless they are at fault anyway. `key` must tell
 * apart what the table tells apart.
 */
export async function uniqueRows<T>(
  rows: readonly Positioned<T>[],
  errors: RowErrors,
  key: (row: T) => string,
): Promise<Positioned<T>[]> {
  const first = new Map<string, Positioned<T>>()
  await mapInTurns(rows, (candidate) => {
    const rowKey = key(candidate.row)
    const earlier = first.get(rowKey)
    if (!earlier) first.set(rowKey, candidate)
    else if (!errors.has(candidate.position) && !isDeepStrictEqual(earlier.row, candidate.row)) {
      const message = `rows ${earlier.position} and ${candidate.position} have the same key and differ`
      errors.add(candidate.position, undefined, 'duplicate_row', message)
    }
  })
  const keys = await sortInTurns([...first.keys()])
  return mapInTurns(keys, (rowKey) => first.get(rowKey) as Positioned<T>)
}
