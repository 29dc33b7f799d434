import { sql } from 'kysely'
import { transaction } from '../../contract/operation.ts'
import { Problem } from '../../contract/problem.ts'
import type { Trx } from '../../database/pool.ts'

/** Revokes an API key; revoking it again is no error. Throws `not-found`, also for a key of another account. */
export const revokeApiKey = transaction<'revokeApiKey'>(async (trx, { account, params }) => {
  // A cluster rejects `coalesce(revoked_at, statement_timestamp())`.
  const { numUpdatedRows } = await trx
    .updateTable('api_keys')
    .set({ revoked_at: sql`statement_timestamp()` })
    .where('account_id', '=', account)
    .where('id', '=', params.id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) await rejectMissing(trx, account, params.id)
  return undefined
})

async function rejectMissing(trx: Trx, account: number, id: number): Promise<void> {
  const key = trx.selectFrom('api_keys').select('id').where('account_id', '=', account)
  if (!(await key.where('id', '=', id).executeTakeFirst()))
    throw new Problem('not-found', 'There is no such API key.')
}
