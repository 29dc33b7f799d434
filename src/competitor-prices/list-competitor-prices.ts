import { sql } from 'kysely'
import { shownText } from '../catalog/column-value.ts'
import { containsText } from '../contract/contains-text.ts'
import type { Export } from '../contract/export.ts'
import {
  columnKeys,
  orderBy,
  orderKeys,
  readOrderedPage,
  rowsOfTable,
} from '../contract/list-order.ts'
import { type OperationRequest, type Schemas, transaction } from '../contract/operation.ts'
import { filtersOf, onPage, withoutAbsent } from '../contract/read-page.ts'
import type { Trx } from '../database/pool.ts'
import { shownTimestamp } from '../database/shown-timestamp.ts'
import { findCompetitorSchema, type SchemaColumn } from './queries.ts'

/** One page of competitor prices, by id or in the requested order. */
export const listCompetitorPrices = transaction<'listCompetitorPrices'>(
  async (trx, { account, query }) => {
    const columns = (await findCompetitorSchema(trx, account))?.columns ?? []
    const rows = sql`(${filtered(trx, account, query, columns).select(keyColumns)})`
    const keys = orderKeys(query.order, orders)
    const ordered = rowsOfTable('competitor_prices', account, { rows, keys })
    const page = trx
      .selectFrom('competitor_prices')
      .where('account_id', '=', account)
      .where('id', '=', onPage)
      .select(selected)
    const { count, rows: found } = await readOrderedPage(trx, ordered, query, page)
    return { count, results: found.map((entry) => entryOf(entry, columns)) }
  },
)

/** Exports all competitor prices that pass the filters, in the order of `listCompetitorPrices`. */
export const exportCompetitorPrices: Export<'listCompetitorPrices'> = async (
  trx,
  { account, query },
) => {
  const columns = (await findCompetitorSchema(trx, account))?.columns ?? []
  return {
    columns: [
      'id',
      'hash',
      ...columns.map(({ name }) => name),
      'competitor_name',
      'departure_date',
      'competitor_price',
      'latest_update',
    ],
    query: trx
      .selectFrom(filtered(trx, account, query, columns).selectAll().as('listed'))
      .select(selected)
      .orderBy(orderBy(orderKeys(query.order, orders))),
    rowsOf: (entry: StoredEntry) => [entryOf(entry, columns)],
  }
}

/** The columns of a StoredEntry. */
const selected = [
  'id',
  'dimensions',
  'competitor_name',
  'departure_date',
  'competitor_price',
  sql<string>`encode(hash, 'hex')`.as('hash'),
  shownTimestamp(sql`latest_update`).as('latest_update'),
] as const

/** The id and the columns that orders use. */
const keyColumns = [
  'id',
  'code',
  'competitor_name',
  'competitor_price',
  'departure_date',
  'latest_update',
] as const

const orders = columnKeys(
  ['competitor_name', 'competitor_price', 'latest_update'],
  ['code', 'departure_date'],
)

type Query = OperationRequest<'listCompetitorPrices'>['query']

function filtered(trx: Trx, account: number, query: Query, columns: SchemaColumn[]) {
  const { contains, ...filters } = filtersOf(query)
  const dimensions = columns.map((_, index) => sql`dimensions[${index + 1}::integer]`)
  const texts = [sql.ref('competitor_name'), ...dimensions]
  return trx
    .selectFrom('competitor_prices')
    .where((entry) => entry.and({ account_id: account, ...filters }))
    .$if(contains !== undefined, (all) => all.where(containsText(texts, contains ?? '')))
}

interface StoredEntry {
  id: number
  hash: string
  dimensions: string[]
  competitor_name: string
  departure_date: string | null
  competitor_price: number
  latest_update: string
}

function entryOf(
  { id, hash, dimensions, ...entry }: StoredEntry,
  columns: SchemaColumn[],
): Schemas['CompetitorPrice'] {
  return withoutAbsent({
    id,
    hash,
    ...Object.fromEntries(
      columns.map(({ name, type }, index) => [name, shownText(type, dimensions[index] as string)]),
    ),
    ...entry,
  }) as Schemas['CompetitorPrice']
}
