import { sql } from 'kysely'
import { extensionKey } from '../catalog/row-key.ts'
import type { Schemas } from '../contract/operation.ts'
import type { Trx } from '../database/pool.ts'
import { quotient } from '../database/quotient.ts'
import { shownTimestamp } from '../database/shown-timestamp.ts'

type Figures = Schemas['SalesFigures']

/** A row of a price list, as sales name it. */
export interface SoldRow {
  code: string
  extensions: readonly string[]
  dimension: string
}

/**
 * Which sales count: those of `days` UTC days, the last of which is `until`. A field that a sale leaves out matches any
 * row.
 */
export interface SalesScope {
  account: number
  list: { name: string; currency?: string | null }
  days: number
  until: string
}

const none: Figures = {
  transactions: 0,
  quantity: 0,
  revenue: 0,
  average_price: null,
  last_at: null,
}

/** The sales figures of each row, in the order of the rows. */
export async function findSalesFigures(
  trx: Trx,
  scope: SalesScope,
  rows: SoldRow[],
): Promise<Figures[]> {
  const keys = new Map<string, Key>()
  const places = rows.map(({ code, extensions, dimension }) => {
    const extension = extensionOf(extensions)
    const text = JSON.stringify([code, extension, dimension])
    const key = keys.get(text) ?? { code, extension, dimension, place: keys.size }
    keys.set(text, key)
    return key.place
  })
  const found = await findByKeys(trx, scope, [...keys.values()])
  return places.map((place) => found.get(place) ?? none)
}

interface Key {
  code: string
  extension: string | null
  dimension: string
  place: number
}

/** The text by which a sale names the extensions of a row; null matches any. */
function extensionOf(extensions: readonly string[]): string | null {
  const [only = null] = extensions
  return extensions.length > 1 ? extensionKey(extensions) : only
}

async function findByKeys(
  trx: Trx,
  { account, list: { name, currency = null }, days, until }: SalesScope,
  keys: Key[],
): Promise<Map<number, Figures>> {
  const [first] = keys
  if (!first) return new Map()
  const columns = [
    sql`${keys.map(({ place }) => place)}::integer[]`,
    sql`${keys.map(({ code }) => code)}::text[]`,
    sql`${keys.map(({ extension }) => extension)}::text[]`,
    sql`${keys.map(({ dimension }) => dimension)}::text[]`,
  ]
  const ofExtension = first.extension === null ? sql`` : sql`and s.extension = input.extension`
  const { rows } = await sql<Figures & { place: number }>`
    select place, count(*) as transactions, round(sum(s.quantity), 6) as quantity, round(sum(s.revenue), 6) as revenue,
      ${quotient(sql`sum(s.revenue)`, sql`sum(s.quantity)`)} as average_price,
      ${shownTimestamp(sql`max(s.transaction_date)`)} as last_at
    from unnest(${sql.join(columns)}) as input (place, code, extension, dimension)
    join sales s on s.account_id = ${account} and s.code = input.code ${ofExtension}
      and (s.price_dimension is null or s.price_dimension = input.dimension)
    where s.transaction_date >= (${until}::date - ${days - 1}::integer)::timestamptz
      and s.transaction_date < (${until}::date + 1)::timestamptz
      and (s.price_list_name is null or s.price_list_name = ${name})
      and (s.currency is null or ${currency}::text is null or s.currency = ${currency})
    group by place`.execute(trx)
  return new Map(rows.map(({ place, ...figures }) => [place, figures]))
}
