import { sql } from 'kysely'
import { distinctKeys } from '../contract/duplicates.ts'
import type { Handler } from '../contract/operation.ts'
import { arrayLiteral } from '../database/array-literal.ts'
import { deleteInOrder } from '../database/delete-rows.ts'

/** Deletes competitor prices by hash. Returns how many were deleted and how many were absent. */
export const deleteCompetitorPrices: Handler<'deleteCompetitorPrices'> = ({
  account,
  body,
  errors,
  inAccount,
}) =>
  inAccount(async (trx) => {
    const hashes = await distinctKeys(body, errors)
    const which = sql`hash = any(array(
      select decode(hex, 'hex') from unnest(${arrayLiteral(hashes)}::text[]) as named (hex)
    ))`
    const of = { table: 'competitor_prices', account, key: 'hash' } as const
    const deleted = await deleteInOrder(trx, of, which)
    return { deleted, absent: hashes.length - deleted }
  })
