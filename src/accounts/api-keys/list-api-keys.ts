import { type Schemas, transaction } from '../../contract/operation.ts'
import { readPage } from '../../contract/read-page.ts'

/** One page of the account's API keys, by id. */
export const listApiKeys = transaction<'listApiKeys'>(async (trx, { account, query }) => {
  const all = trx.selectFrom('api_keys').where('account_id', '=', account)
  const { count, rows } = await readPage(trx, { all, rows: all.select(columns), query })
  const results = rows.map((key) => ({
    ...key,
    scopes: key.scopes as Schemas['Scope'][],
    created_at: key.created_at.toISOString(),
    expires_at: key.expires_at.toISOString(),
    revoked_at: key.revoked_at?.toISOString() ?? null,
  }))
  return { count, results }
})

const columns = [
  'id',
  'name',
  'scopes',
  'created_at',
  'expires_at',
  'last_used_on',
  'revoked_at',
] as const
