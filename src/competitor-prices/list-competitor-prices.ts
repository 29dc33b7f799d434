import { sql } from 'kysely'
import { shownText } from '../catalog/column-value.ts'
import type { Export } from '../contract/export.ts'
import type { Handler, Schemas } from '../contract/operation.ts'
import {
  anyOf,
  filtersOf,
  type PageQuery,
  pageOf,
  readPageOfLargeRows,
  withoutAbsent,
} from '../contract/read-page.ts'
import type { Trx } from '../database/pool.ts'
import { shownTimestamp } from '../lib/formats.ts'
import { findCompetitorSchema, type SchemaColumn } from './queries.ts'

/** One page of competitor prices in the order of their ids. */
export const listCompetitorPrices: Handler<'listCompetitorPrices'> = ({
  account,
  query,
  inAccount,
}) =>
  inAccount(async (trx) => {
    const { offset, limit } = pageOf(query)
    const columns = (await findCompetitorSchema(trx, account))?.columns ?? []
    const entries = filtered(trx, account, query)
    const ids = entries.select('id').orderBy('id').offset(offset).limit(limit)
    const page = trx
      .selectFrom('competitor_prices')
      .where('account_id', '=', account)
      .where('id', '=', anyOf(ids))
      .select(selected)
    const { count, rows } = await readPageOfLargeRows(trx, { all: entries, page })
    return { count, results: rows.map((entry) => entryOf(entry, columns)) }
  })

/** All competitor prices that the filters leave, in the order of their ids. */
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
    query: filtered(trx, account, query).select(selected).orderBy('id'),
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
  sql<string>`to_char(latest_update, 'YYYY-MM-DD"T"HH24:MI:SS.US')`.as('latest_update'),
] as const

interface Filters extends PageQuery {
  code?: string
  competitor_name?: string
}

function filtered(trx: Trx, account: number, query: Filters) {
  const given = { account_id: account, ...filtersOf(query) }
  return trx.selectFrom('competitor_prices').where((entry) => entry.and(given))
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
  { id, hash, dimensions, latest_update, ...entry }: StoredEntry,
  columns: SchemaColumn[],
): Schemas['CompetitorPrice'] {
  return withoutAbsent({
    id,
    hash,
    ...Object.fromEntries(
      columns.map(({ name, type }, index) => [name, shownText(type, dimensions[index] as string)]),
    ),
    ...entry,
    latest_update: shownTimestamp(latest_update),
  }) as Schemas['CompetitorPrice']
}
