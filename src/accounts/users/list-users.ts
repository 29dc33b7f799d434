import type { Handler } from '../../contract/operation.ts'
import { pageOf, readPage } from '../../contract/read-page.ts'
import { scopesOfUser } from './queries.ts'

/** One page of the account's users, by id. */
export const listUsers: Handler<'listUsers'> = ({ account, query, inAccount }) =>
  inAccount(async (trx) => {
    const { offset, limit } = pageOf(query)
    const all = trx.selectFrom('users').where('account_id', '=', account)
    const columns = all.select(['id', 'email', scopesOfUser, 'created_at'])
    const page = columns.orderBy('id').offset(offset).limit(limit)
    const { count, rows } = await readPage(trx, { all, page })
    const results = rows.map((user) => ({ ...user, created_at: user.created_at.toISOString() }))
    return { count, results }
  })
