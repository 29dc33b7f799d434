import { sql } from 'kysely'
import { distinctKeys } from '../contract/duplicates.ts'
import type { Handler } from '../contract/operation.ts'
import { arrayLiteral } from '../database/array-literal.ts'
import { deleteInOrder } from '../database/delete-rows.ts'

/** Deletes agreements by id. Returns how many were deleted and how many were absent. */
export const deleteAgreements: Handler<'deleteAgreements'> = ({
  account,
  body,
  errors,
  inAccount,
}) =>
  inAccount(async (trx) => {
    const ids = await distinctKeys(body, errors)
    const which = sql`id = any(${arrayLiteral(ids)}::bigint[])`
    const of = { table: 'agreements', account, key: 'key_hash' } as const
    const deleted = await deleteInOrder(trx, of, which)
    return { deleted, absent: ids.length - deleted }
  })
