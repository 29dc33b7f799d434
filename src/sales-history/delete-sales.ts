import { sql } from 'kysely'
import { distinctKeys } from '../contract/duplicates.ts'
import type { Handler } from '../contract/operation.ts'
import { arrayLiteral } from '../database/array-literal.ts'
import { deleteInOrder } from '../database/delete-rows.ts'

/** Deletes sales by transaction id. Returns how many were deleted and how many were absent. */
export const deleteSales: Handler<'deleteSales'> = ({ account, body, errors, inAccount }) =>
  inAccount(async (trx) => {
    const keys = await distinctKeys(body, errors)
    const which = sql`transaction_id = any(${arrayLiteral(keys)}::text[])`
    const of = { table: 'sales', account, key: 'transaction_id' } as const
    const deleted = await deleteInOrder(trx, of, which)
    return { deleted, absent: keys.length - deleted }
  })
