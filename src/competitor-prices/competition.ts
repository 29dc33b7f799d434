import { type RawBuilder, sql } from 'kysely'
import type { Columns } from '../catalog/columns.ts'
import { type MatchedRow, matchColumns, textReader } from '../catalog/matching.ts'
import type { Schemas } from '../contract/operation.ts'
import { arrayLiteral, readNumbers } from '../database/array-literal.ts'
import type { Trx } from '../database/pool.ts'
import { quotient } from '../database/quotient.ts'
import { divide, fraction, multiply, roundHalfUp, subtract } from '../lib/decimal.ts'
import { type CompetitorSchema, findCompetitorSchema } from './queries.ts'

/** A row to compare, with its day in a calendar list. Its attributes are looked up. */
export interface ComparedRow extends Omit<MatchedRow, 'attributes'> {
  date: string | undefined
}

/** Which entries count. */
export interface CompetitionOptions {
  /** In UTC days. */
  max_age_days: number
  names?: string[] | undefined
}

/** Competitors' prices for a row. */
export interface Competitors {
  /** Lowest first. */
  prices: number[]
  lowest_name: string
  average: number
  median: number
}

type Key = { code: string | null; dimensions: string[]; date: string | undefined }

/** The competitors of each row; null without entries, or without a schema. */
export async function findCompetitors(
  trx: Trx,
  account: number,
  columns: Columns,
  { rows, ...options }: CompetitionOptions & { rows: ComparedRow[] },
): Promise<(Competitors | null)[]> {
  const schema = await findCompetitorSchema(trx, account)
  if (!schema) return rows.map(() => null)
  const dimensionsOf = await dimensionsReader(trx, account, { schema, columns, rows })
  const hasCode = schema.columns.some(({ name }) => name === 'code')
  const keys = new Map<string, Key & { place: number }>()
  const places = rows.map((row) => {
    const dimensions = dimensionsOf(row)
    if (!dimensions) return undefined
    const date = schema.is_dated ? row.date : undefined
    const text = JSON.stringify([date, ...dimensions])
    const code = hasCode ? row.code : null
    const key = keys.get(text) ?? { code, dimensions, date, place: keys.size }
    keys.set(text, key)
    return key.place
  })
  const found = await findByKeys(trx, account, schema, { ...options, keys: [...keys.values()] })
  return places.map((place) => (place === undefined ? null : (found.get(place) ?? null)))
}

/** Returns a function that reads a row's values for the columns of the schema; undefined if it lacks one. */
async function dimensionsReader(
  trx: Trx,
  account: number,
  { schema, columns, rows }: { schema: CompetitorSchema; columns: Columns; rows: ComparedRow[] },
) {
  const known = matchColumns(columns)
  const compared = schema.columns.map(({ name }) => known.get(name))
  const usesAttributes = compared.some((column) => column?.kind === 'attribute')
  const ofProducts = usesAttributes ? await findAttributes(trx, account, rows) : new Map()
  const readers = compared.map((column) => column && textReader(column))
  return ({ code, extensions }: ComparedRow): string[] | undefined => {
    const matched = { code, extensions, attributes: ofProducts.get(code) ?? null }
    const texts = readers.map((read) => read?.(matched) ?? null)
    return texts.includes(null) ? undefined : (texts as string[])
  }
}

/** The product attributes of the rows, by code. */
async function findAttributes(
  trx: Trx,
  account: number,
  rows: ComparedRow[],
): Promise<Map<string, (string | null)[]>> {
  const codes = [...new Set(rows.map(({ code }) => code))]
  const products = await trx
    .selectFrom('product_attributes')
    .select(['code', 'attributes'])
    .where('account_id', '=', account)
    .where('code', '=', sql<string>`any(${codes}::text[])`)
    .execute()
  return new Map(products.map(({ code, attributes }) => [code, attributes]))
}

async function findByKeys(
  trx: Trx,
  account: number,
  { is_dated }: CompetitorSchema,
  { keys, max_age_days, names }: CompetitionOptions & { keys: Key[] },
): Promise<Map<number, Competitors>> {
  const [first] = keys
  if (!first) return new Map()
  const byCode = first.code === null ? sql`` : sql`and c.code = input.code`
  const day =
    first.date === undefined ? sql`c.departure_date is null` : sql`c.departure_date = input.date`
  const entries = sql`
    select c.competitor_name, c.competitor_price from competitor_prices c
    where c.account_id = ${account} ${byCode} and c.dimensions = input.dimensions ${is_dated ? sql`and ${day}` : sql``}
      and c.latest_update >= (current_date - ${max_age_days}::integer)::timestamptz
      ${names ? sql`and c.competitor_name = any(${names}::text[])` : sql``}`
  // Until a loaded table has statistics, PostgreSQL would join all of it: `offset 0` makes it look up each code.
  const look = first.code === null ? entries : sql`${entries} offset 0`
  const { rows } = await sql<Omit<Competitors, 'prices'> & { place: number; prices: string }>`
    select place, prices::text as prices, lowest_name, average,
      round((prices[(count + 1) / 2] + prices[count / 2 + 1]) / 2, 6) as median
    from (
      select place, count(*)::integer as count, ${quotient(sql`sum(c.competitor_price)`, sql`count(*)`)} as average,
        array_agg(c.competitor_price order by c.competitor_price, c.competitor_name) as prices,
        (array_agg(c.competitor_name order by c.competitor_price, c.competitor_name))[1] as lowest_name
      from ${inputKeys(keys)} cross join lateral (${look}) as c
      group by place
    ) as found`.execute(trx)
  return new Map(
    rows.map(({ place, prices, ...row }) => [place, { ...row, prices: readNumbers(prices) }]),
  )
}

function inputKeys(keys: Key[]): RawBuilder<unknown> {
  const columns = [
    sql`${keys.map((_, place) => place)}::integer[]`,
    sql`${keys.map(({ code }) => code)}::text[]`,
    sql`${keys.map(({ dimensions }) => arrayLiteral(dimensions))}::text[]`,
    sql`${keys.map(({ date }) => date ?? null)}::date[]`,
  ]
  return sql`(
    select place, code, dimensions::text[] as dimensions, date
    from unnest(${sql.join(columns)}) as input (place, code, dimensions, date)
    offset 0
  ) as input`
}

/** Where a price stands among those of competitors. Without a price there is no rank and no gap. */
export function standing(
  competitors: Competitors | null,
  price: number | null,
): Schemas['Competition'] | null {
  if (!competitors) return null
  const { prices, lowest_name, average, median } = competitors
  const [lowest = 0, highest = lowest] = [prices[0], prices.at(-1)]
  const below = price === null ? null : prices.findIndex((other) => other >= price)
  return {
    count: prices.length,
    lowest,
    lowest_name,
    highest,
    average,
    median,
    rank: below === null ? null : 1 + (below < 0 ? prices.length : below),
    gap_percent: price === null ? null : percentAbove(lowest, price),
  }
}

/**
 * How far a price lies above `base`, in percent, rounded half up; null if `base` is 0 or the result is no JSON number.
 */
function percentAbove(base: number, price: number): number | null {
  const [exact, above] = [fraction(base), subtract(fraction(price), fraction(base))]
  const percent = divide(multiply(above, { n: 100n, d: 1n }), exact)
  const rounded = percent ? roundHalfUp(percent) : null
  return Number.isFinite(rounded) ? rounded : null
}
