import { transaction } from '../../contract/operation.ts'
import { readPage } from '../../contract/read-page.ts'
import { scopesOfUser } from './queries.ts'

/** One page of the account's users, by id. */
export const listUsers = transaction<'listUsers'>(async (trx, { account, query }) => {
  const all = trx.selectFrom('users').where('account_id', '=', account)
  const users = all.select(['id', 'email', scopesOfUser, 'created_at'])
  const { count, rows } = await readPage(trx, { all, rows: users, query })
  const results = rows.map((user) => ({ ...user, created_at: user.created_at.toISOString() }))
  return { count, results }
})
