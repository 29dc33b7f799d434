import type { Positioned } from '../contract/duplicates.ts'
import type { Schemas } from '../contract/operation.ts'
import type { RowErrors } from '../contract/row-errors.ts'
import type { Trx } from '../database/pool.ts'
import { findNames } from '../promotions/queries.ts'

type Row = Schemas['GetPricesRow']

/** The promotions that the rows of a read name. */
export function promotionNames(payload: readonly Row[]): string[] {
  return [...new Set(payload.flatMap(({ promotion }) => promotion ?? []))]
}

/** A row that names a promotion which does not exist is an error; one that is not valid that day is none. */
export async function rejectUnknownPromotions(
  trx: Trx,
  account: number,
  rows: readonly Positioned<Row>[],
  errors: RowErrors,
): Promise<void> {
  const names = promotionNames(rows.map(({ row }) => row))
  if (names.length === 0) return
  const known = await findNames(trx, account, 'promotions', names)
  for (const { row, position } of rows) {
    if (row.promotion !== undefined && !known.has(row.promotion))
      errors.add(position, 'promotion', 'unknown_promotion', 'there is no such promotion')
  }
}
