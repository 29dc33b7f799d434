import { sql } from 'kysely'
import { containsText } from '../contract/contains-text.ts'
import type { Export } from '../contract/export.ts'
import {
  columnKeys,
  orderBy,
  orderKeys,
  readOrderedPage,
  rowsOfTable,
} from '../contract/list-order.ts'
import { type OperationRequest, transaction } from '../contract/operation.ts'
import { filtersOf, onPage } from '../contract/read-page.ts'
import type { Trx } from '../database/pool.ts'
import { agreementColumns, agreementOf, type StoredAgreement } from './queries.ts'

/** One page of agreements, by id or in the requested order. */
export const listAgreements = transaction<'listAgreements'>(async (trx, { account, query }) => {
  const rows = sql`(${filtered(trx, account, query).select(keyColumns)})`
  const keys = orderKeys(query.order, orders)
  const ordered = rowsOfTable('agreements', account, { rows, keys })
  const page = trx
    .selectFrom('agreements')
    .where('account_id', '=', account)
    .where('id', '=', onPage)
    .select(agreementColumns)
  const { count, rows: found } = await readOrderedPage(trx, ordered, query, page)
  return { count, results: found.map(agreementOf) }
})

/** Exports all agreements that pass the filters, in the order of `listAgreements`. */
export const exportAgreements: Export<'listAgreements'> = async (trx, { account, query }) => ({
  columns: ['id', 'name', 'client_code', 'price_list_code', 'price_line', 'prices'],
  query: trx
    .selectFrom(filtered(trx, account, query).selectAll().as('listed'))
    .select(agreementColumns)
    .orderBy(orderBy(orderKeys(query.order, orders))),
  rowsOf: (agreement: StoredAgreement) => [agreementOf(agreement)],
})

type Query = OperationRequest<'listAgreements'>['query']

/** The id and the columns that orders use. */
const keyColumns = ['id', 'name', 'client_code', 'price_list_code', 'line_code'] as const

const orders = {
  ...columnKeys(['name', 'client_code', 'price_list_code']),
  code: { value: sql.ref('listed.line_code') },
}

const texts = ['name', 'client_code', 'price_list_code', 'line_code'].map((name) => sql.ref(name))

function filtered(trx: Trx, account: number, query: Query) {
  const { code, contains, ...filters } = filtersOf(query)
  return trx
    .selectFrom('agreements')
    .where((agreement) => agreement.and({ account_id: account, ...filters }))
    .$if(code !== undefined, (all) => all.where('line_code', '=', code ?? ''))
    .$if(contains !== undefined, (all) => all.where(containsText(texts, contains ?? '')))
}
