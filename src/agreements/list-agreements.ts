import type { SelectQueryBuilder } from 'kysely'
import type { DB } from '../../generated/database.d.ts'
import type { Export } from '../contract/export.ts'
import type { Handler } from '../contract/operation.ts'
import { pageOf, readPageOfLargeRows } from '../contract/read-page.ts'
import { agreementColumns, agreementOf, type StoredAgreement } from './queries.ts'

/** One page of agreements in the order of their ids. */
export const listAgreements: Handler<'listAgreements'> = ({ account, query, inAccount }) =>
  inAccount(async (trx) => {
    const { offset, limit } = pageOf(query)
    const all = trx.selectFrom('agreements').where('account_id', '=', account)
    const agreements = filter(all, query)
    const page = agreements.select(agreementColumns).orderBy('id').offset(offset).limit(limit)
    const { count, rows } = await readPageOfLargeRows(trx, { all: agreements, page })
    return { count, results: rows.map(agreementOf) }
  })

/** All agreements that the filters leave, in the order of their ids. */
export const exportAgreements: Export<'listAgreements'> = async (trx, { account, query }) => ({
  columns: ['id', 'name', 'client_code', 'price_list_code', 'price_line', 'prices'],
  query: filter(trx.selectFrom('agreements').where('account_id', '=', account), query)
    .select(agreementColumns)
    .orderBy('id'),
  rowsOf: (agreement: StoredAgreement) => [agreementOf(agreement)],
})

interface Filters {
  client_code?: string
  price_list_code?: string
  name?: string
}

type Agreements = SelectQueryBuilder<DB, 'agreements', object>

function filter(agreements: Agreements, { client_code, price_list_code, name }: Filters) {
  let filtered = agreements
  if (client_code !== undefined) filtered = filtered.where('client_code', '=', client_code)
  if (price_list_code !== undefined)
    filtered = filtered.where('price_list_code', '=', price_list_code)
  if (name !== undefined) filtered = filtered.where('name', '=', name)
  return filtered
}
