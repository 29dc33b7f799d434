import { sql } from 'kysely'
import { shownTimestamp } from '../contract/formats.ts'
import type { Handler, Schemas } from '../contract/operation.ts'
import { pageOf, withoutAbsent } from '../contract/page.ts'
import { findCompetitorSchema, type SchemaColumn } from './queries.ts'

/** One page of competitor prices in the order of their ids. */
export const listCompetitorPrices: Handler<'listCompetitorPrices'> = ({
  account,
  query,
  inAccount,
}) =>
  inAccount(async (trx) => {
    const { offset, limit } = pageOf(query)
    const { code, competitor_name: name } = query ?? {}
    const columns = (await findCompetitorSchema(trx, account))?.columns ?? []
    const entries = trx
      .selectFrom('competitor_prices')
      .where('account_id', '=', account)
      .$if(code !== undefined, (entries) => entries.where('code', '=', code ?? ''))
      .$if(name !== undefined, (entries) => entries.where('competitor_name', '=', name ?? ''))
    const { count } = await entries
      .select(sql<number>`count(*)`.as('count'))
      .executeTakeFirstOrThrow()
    const page = await entries
      .select(['id', 'dimensions', 'competitor_name', 'departure_date', 'competitor_price'])
      .select([
        sql<string>`encode(hash, 'hex')`.as('hash'),
        sql<string>`to_char(latest_update, 'YYYY-MM-DD"T"HH24:MI:SS.US')`.as('latest_update'),
      ])
      .orderBy('id')
      .offset(offset)
      .limit(limit)
      .execute()
    return { count, results: page.map((entry) => entryOf(entry, columns)) }
  })

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
    ...{ id, hash },
    ...Object.fromEntries(columns.map(({ name }, index) => [name, dimensions[index]])),
    ...entry,
    latest_update: shownTimestamp(latest_update),
  }) as Schemas['CompetitorPrice']
}
