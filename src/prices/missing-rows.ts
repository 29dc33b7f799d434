import { type KeyedRow, rowKey } from '../catalog/row-key.ts'
import type { RowErrors } from '../contract/row-errors.ts'
import type { RowIds } from './write-prices.ts'

/**
 * Names the rows of a payload that are not in the published list, each as often as it is there. `ids` are those that
 * were found for `rows`, which have each row once.
 */
export function rejectMissing(
  payload: readonly KeyedRow<unknown>[],
  rows: readonly Pick<KeyedRow<unknown>, 'code' | 'extensions'>[],
  ids: RowIds,
  errors: RowErrors,
): void {
  if (!ids.includes(null)) return
  const missing = new Set(rows.flatMap((row, index) => (ids[index] === null ? rowKey(row) : [])))
  for (const row of payload) {
    if (missing.has(rowKey(row)))
      errors.add(row.position, 'code', 'row_not_in_list', 'this row is not in the published list')
  }
}
