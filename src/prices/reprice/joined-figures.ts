import { type RawBuilder, sql } from 'kysely'
import type { Columns } from '../../catalog/columns.ts'
import { matchColumns } from '../../catalog/matching.ts'
import { type CompetitorSchema, findCompetitorSchema } from '../../competitor-prices/queries.ts'
import type { Schemas } from '../../contract/operation.ts'
import type { Trx } from '../../database/pool.ts'
import { quotient } from '../../database/quotient.ts'
import { dayAfter, today } from '../../price-lists/calendar.ts'
import type { PriceList } from '../../price-lists/queries.ts'

type Input = Schemas['RepriceInput']

/** Which competitor prices and sales count. */
export interface FigureOptions {
  competition?: Partial<NonNullable<Input['competition']>> | undefined
  sales?: Partial<NonNullable<Input['sales']>> | undefined
}

/** The cells that figures are joined to. */
export interface FigureCells {
  list: PriceList
  columns: Columns
  /** The columns that a formula reads. */
  inputs: ReadonlySet<string>
  /** The dimensions of the cells, from 1. */
  dimensions: readonly number[]
  /** A SELECT of the rows' codes; undefined for all rows of the list. */
  codes: RawBuilder<unknown> | undefined
}

/** SQL that joins figures to rows `r` (with `attributes`) and cells `f`, and the figures as columns. */
interface JoinedFigures {
  join: RawBuilder<unknown>
  columns: RawBuilder<unknown>[]
}

const nothing: JoinedFigures = { join: sql``, columns: [] }

type Figures = Record<string, RawBuilder<unknown>>

const prices = sql`array_agg(c.competitor_price order by c.competitor_price)`

/** SQL of the figures, as `include: competition` shows them. */
const competitionFigures: Figures = {
  comp_min: sql`min(c.competitor_price)`,
  comp_max: sql`max(c.competitor_price)`,
  comp_avg: quotient(sql`sum(c.competitor_price)`, sql`count(*)`),
  comp_median: sql`round(((${prices})[(count(*)::integer + 1) / 2] + (${prices})[count(*)::integer / 2 + 1]) / 2, 6)`,
  comp_count: sql`count(*)::numeric`,
}

/** SQL of the figures, as `include: sales` shows them. */
const salesFigures: Figures = {
  sales_qty: sql`round(sum(s.quantity), 6)`,
  sales_revenue: sql`round(sum(s.revenue), 6)`,
  sales_avg: quotient(sql`sum(s.revenue)`, sql`sum(s.quantity)`),
}

/** Figures that are 0 without data; the others are null. */
const counts = ['comp_count', 'sales_qty', 'sales_revenue']

/** Joins the figures that a formula reads, and only those. */
export async function joinFigures(
  trx: Trx,
  cells: FigureCells,
  { competition = {}, sales = {} }: FigureOptions,
): Promise<JoinedFigures[]> {
  const named = (figures: Figures) => Object.keys(figures).filter((name) => cells.inputs.has(name))
  const [ofCompetitors, ofSales] = [named(competitionFigures), named(salesFigures)]
  return [
    ofCompetitors.length > 0
      ? await joinCompetition(trx, cells, ofCompetitors, competition)
      : nothing,
    ofSales.length > 0 ? joinSales(cells, ofSales, sales) : nothing,
  ]
}

async function joinCompetition(
  trx: Trx,
  { list, columns, codes }: FigureCells,
  names: string[],
  { max_age_days = 30, names: competitors }: NonNullable<FigureOptions['competition']>,
): Promise<JoinedFigures> {
  const { account_id, is_calendar } = list
  const schema = await findCompetitorSchema(trx, account_id)
  const key = schema && rowKey(schema, columns)
  if (!schema || !key) return { join: sql``, columns: names.map((name) => shown(name, sql`null`)) }
  const byDay = schema.is_dated && is_calendar
  const hasCode = schema.columns.some(({ name }) => name === 'code')
  const groups = sql`
    select c.dimensions, c.departure_date, ${aggregates(competitionFigures, names)}
    from competitor_prices c
    where c.account_id = ${account_id}
      and c.latest_update >= (${dayAfter(today(), -max_age_days)}::date)::timestamptz
      ${competitors ? sql`and c.competitor_name = any(${competitors}::text[])` : sql``}
      ${schema.is_dated && !is_calendar ? sql`and c.departure_date is null` : sql``}
      ${codes && hasCode ? sql`and c.code in (${codes})` : sql``}
    group by c.dimensions, c.departure_date`
  const join = sql`left join (${groups}) as rival on rival.dimensions = ${key}
    ${byDay ? sql`and rival.departure_date = f.date` : sql``}`
  return { join, columns: names.map((name) => shown(name, sql.ref(`rival.${name}`))) }
}

/** SQL of a row's values for the schema's columns; undefined if rows lack one of the columns. */
function rowKey(schema: CompetitorSchema, columns: Columns): RawBuilder<unknown> | undefined {
  const known = matchColumns(columns)
  const values = schema.columns.map(({ name }) => {
    const column = known.get(name)
    if (!column || column.kind === 'code') return column && sql`r.code`
    return sql`${sql.ref(`r.${column.kind}s`)}[${sql.lit(column.ordinal)}]`
  })
  return values.includes(undefined)
    ? undefined
    : sql`array[${sql.join(values as RawBuilder<unknown>[])}]::text[]`
}

function joinSales(
  { list, columns: { extensions }, dimensions, codes }: FigureCells,
  names: string[],
  { days = 30 }: NonNullable<FigureOptions['sales']>,
): JoinedFigures {
  const { account_id, name, currency, price_dimensions } = list
  const extension = extensions.length === 0 ? sql`` : sql`, s.extension`
  const ofRow = extensions.length === 1 ? sql`r.extensions[1]` : sql`r.extension_key`
  const named = dimensions.map((dimension) => price_dimensions[dimension - 1])
  const groups = sql`
    select s.code ${extension}, d.dimension, ${aggregates(salesFigures, names)}
    from sales s join unnest(${dimensions}::integer[], ${named}::text[]) as d (dimension, name)
      on s.price_dimension is null or s.price_dimension = d.name
    where s.account_id = ${account_id}
      and s.transaction_date >= (${dayAfter(today(), 1 - days)}::date)::timestamptz
      and s.transaction_date < (${dayAfter(today(), 1)}::date)::timestamptz
      and (s.price_list_name is null or s.price_list_name = ${name})
      ${currency === null ? sql`` : sql`and (s.currency is null or s.currency = ${currency})`}
      ${codes ? sql`and s.code in (${codes})` : sql``}
    group by s.code ${extension}, d.dimension`
  const join = sql`left join (${groups}) as sold on sold.code = r.code and sold.dimension = f.dimension
    ${extensions.length === 0 ? sql`` : sql`and sold.extension = ${ofRow}`}`
  return { join, columns: names.map((one) => shown(one, sql.ref(`sold.${one}`))) }
}

function aggregates(figures: Figures, names: string[]): RawBuilder<unknown> {
  return sql.join(names.map((name) => sql`${figures[name]} as ${sql.ref(name)}`))
}

function shown(name: string, value: RawBuilder<unknown>): RawBuilder<unknown> {
  const figure = counts.includes(name) ? sql`coalesce(${value}, 0)` : value
  return sql`${figure}::numeric as ${sql.ref(name)}`
}
