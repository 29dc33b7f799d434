import { isDeepStrictEqual } from 'node:util'
import { mapCooperatively, sortCooperatively } from '../lib/cooperative.ts'
import type { RowErrors } from './row-errors.ts'

/** A row of the payload and its index. */
export interface Positioned<T> {
  row: T
  position: number
}

/**
 * The rows with each key once, sorted by key, so that concurrent batches cannot deadlock. Equal rows count once. Rows that
 * share a key and differ are errors with both indexes, unless they have errors already. `key` must distinguish what the
 * key of the table distinguishes.
 */
export async function uniqueRows<T>(
  rows: readonly Positioned<T>[],
  errors: RowErrors,
  key: (row: T) => string,
): Promise<Positioned<T>[]> {
  const first = new Map<string, Positioned<T>>()
  await mapCooperatively(rows, (candidate) => {
    const rowKey = key(candidate.row)
    const earlier = first.get(rowKey)
    if (!earlier) first.set(rowKey, candidate)
    else if (!errors.has(candidate.position) && !isDeepStrictEqual(earlier.row, candidate.row)) {
      const message = `rows ${earlier.position} and ${candidate.position} have the same key and differ`
      errors.add(candidate.position, undefined, 'duplicate_row', message)
    }
  })
  const keys = await sortCooperatively([...first.keys()])
  return mapCooperatively(keys, (rowKey) => first.get(rowKey) as Positioned<T>)
}
