import type { Export } from '../contract/export.ts'
import type { Handler } from '../contract/operation.ts'
import { filtersOf, type PageQuery, pageOf, readPageOfLargeRows } from '../contract/read-page.ts'
import type { Trx } from '../database/pool.ts'
import { agreementColumns, agreementOf, type StoredAgreement } from './queries.ts'

/** One page of agreements in the order of their ids. */
export const listAgreements: Handler<'listAgreements'> = ({ account, query, inAccount }) =>
  inAccount(async (trx) => {
    const { offset, limit } = pageOf(query)
    const agreements = filtered(trx, account, query)
    const page = agreements.select(agreementColumns).orderBy('id').offset(offset).limit(limit)
    const { count, rows } = await readPageOfLargeRows(trx, { all: agreements, page })
    return { count, results: rows.map(agreementOf) }
  })

/** All agreements that the filters leave, in the order of their ids. */
export const exportAgreements: Export<'listAgreements'> = async (trx, { account, query }) => ({
  columns: ['id', 'name', 'client_code', 'price_list_code', 'price_line', 'prices'],
  query: filtered(trx, account, query).select(agreementColumns).orderBy('id'),
  rowsOf: (agreement: StoredAgreement) => [agreementOf(agreement)],
})

interface Filters extends PageQuery {
  client_code?: string
  price_list_code?: string
  name?: string
}

function filtered(trx: Trx, account: number, query: Filters) {
  const given = { account_id: account, ...filtersOf(query) }
  return trx.selectFrom('agreements').where((agreement) => agreement.and(given))
}
