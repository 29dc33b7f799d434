import { sql } from 'kysely'
import type { Handler } from '../../contract/operation.ts'
import { Problem } from '../../contract/problem.ts'

/** Revokes an API key; once more is no error. Throws `not-found` also for a key of another account. */
export const revokeApiKey: Handler<'revokeApiKey'> = ({ account, params, inAccount }) =>
  inAccount(async (trx) => {
    const { numUpdatedRows } = await trx
      .updateTable('api_keys')
      .set({ revoked_at: sql`coalesce(revoked_at, statement_timestamp())` })
      .where('account_id', '=', account)
      .where('id', '=', params.id)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) throw new Problem('not-found', 'There is no such API key.')
    return undefined
  })
