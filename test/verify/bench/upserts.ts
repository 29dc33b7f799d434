import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import { type Goal, timed, type Workload } from './measure.ts'
import type { Server } from './servers.ts'

/** Random hexadecimal digits, two per byte. */
const randomKey = (bytes = 10) => randomBytes(bytes).toString('hex')

/** A bulk upsert and the statement of the floor, whose $1 is the body. */
export interface Upsert<Row extends object> {
  path: string
  row(): Row
  /** The row with another value. */
  changed(row: Row): Row
  bare: string
}

export const sales: Upsert<{ revenue: string }> = {
  path: '/api/v1/sales_history/bulk_create_or_update',
  row: () => ({
    transaction_id: randomKey(),
    price_list_name: 'Bench',
    price_dimension: 'price',
    code: randomKey(4),
    extension: 'United Kingdom',
    quantity: '6',
    active_price: '2.55',
    client_code: '17850',
    agreement_code: 'A-1',
    departure_date: '2026-01-01',
    revenue: '15.30',
    transaction_date: '2026-01-01T08:26:00Z',
    currency: 'GBP',
  }),
  changed: (row) => ({ ...row, revenue: '16.20' }),
  bare: `
    insert into sales (transaction_id, price_list_name, price_dimension, code, extension, quantity, active_price,
      client_code, agreement_code, departure_date, revenue, transaction_date, currency)
    select * from jsonb_to_recordset($1::jsonb) as i (transaction_id text, price_list_name text, price_dimension text,
      code text, extension text, quantity numeric, active_price numeric, client_code text, agreement_code text,
      departure_date date, revenue numeric, transaction_date timestamptz, currency text)
    on conflict (transaction_id) do update set price_list_name = excluded.price_list_name,
      price_dimension = excluded.price_dimension, code = excluded.code, extension = excluded.extension,
      quantity = excluded.quantity, active_price = excluded.active_price, client_code = excluded.client_code,
      agreement_code = excluded.agreement_code, departure_date = excluded.departure_date, revenue = excluded.revenue,
      transaction_date = excluded.transaction_date, currency = excluded.currency
    returning id`,
}

const competitorPrices: Upsert<{ competitor_price: number; latest_update: string }> = {
  path: '/api/v1/competitor_prices/bulk_create_or_update/',
  row: () => ({
    code: randomKey(),
    country: 'UK',
    competitor_name: 'Rival Ltd',
    competitor_price: 2.55,
    latest_update: '2026-01-01T08:26:00Z',
  }),
  changed: (row) => ({ ...row, competitor_price: 2.45, latest_update: '2026-01-02T08:26:00Z' }),
  bare: `
    insert into competitor_prices (code, country, competitor_name, competitor_price, latest_update)
    select * from jsonb_to_recordset($1::jsonb) as i (code text, country text, competitor_name text,
      competitor_price numeric, latest_update timestamptz)
    on conflict (code, country, competitor_name) do update
    set competitor_price = excluded.competitor_price, latest_update = excluded.latest_update
    returning id`,
}

const agreements: Upsert<{ prices: Record<string, number> }> = {
  path: '/api/v1/agreement/bulk_create_or_update',
  row: () => ({
    name: `Frame contract ${randomKey()}`,
    client_code: randomKey(4),
    price_list_code: 'Bench',
    price_line: { product_code: randomKey(4), attribute_1: 'Home' },
    prices: { retail: 2.35, wholesale: 1.9 },
  }),
  changed: (row) => ({ ...row, prices: { retail: 2.25, wholesale: 1.8 } }),
  bare: `
    insert into agreements (name, client_code, price_list_code, price_line, prices)
    select * from jsonb_to_recordset($1::jsonb) as i (name text, client_code text, price_list_code text,
      price_line jsonb, prices jsonb)
    on conflict (name, client_code, price_list_code, price_line) do update set prices = excluded.prices
    returning id`,
}

const products: Upsert<{ purchase: number }> = {
  path: '/api/v1/product_catalog/bulk_create_or_update/',
  row: () => ({
    code: randomKey(),
    country: 'UK',
    brand: 'New',
    family: 'New',
    purchase: 1.5,
    freight: 0.25,
  }),
  changed: (row) => ({ ...row, purchase: 1.6 }),
  bare: `
    insert into products (code, country, brand, family, purchase, freight)
    select * from jsonb_to_recordset($1::jsonb) as i (code text, country text, brand text, family text,
      purchase numeric, freight numeric)
    on conflict (code, country) do update set brand = excluded.brand, family = excluded.family,
      purchase = excluded.purchase, freight = excluded.freight
    returning id`,
}

/** `rows` new rows in calls of `rowsOfCall`, and the same with another value. */
export function bodiesOf<Row extends object>(
  { row, changed }: Upsert<Row>,
  rows: number,
  rowsOfCall = rows,
): { fresh: string[]; again: string[] } {
  const calls = Array.from({ length: rows / rowsOfCall }, () =>
    Array.from({ length: rowsOfCall }, row),
  )
  return {
    fresh: calls.map((call) => JSON.stringify(call)),
    again: calls.map((call) => JSON.stringify(call.map(changed))),
  }
}

interface Kind {
  name: string
  rowsOfCall?: number
  fresh: Goal
  again: Goal
  /** Also sends the changed rows once more. */
  unchanged?: Goal
}

const rowsOfRound = 10_000

/** Upserts 10,000 new rows, then the same with another value, then perhaps those once more. */
function upsertWorkload<Row extends object>(upsert: Upsert<Row>, kind: Kind): Workload {
  const { name, rowsOfCall = rowsOfRound, fresh, again, unchanged } = kind
  const perSecond = async (send: (body: string) => Promise<unknown>) => {
    const bodies = bodiesOf(upsert, rowsOfRound, rowsOfCall)
    const { fresh, again } = bodies
    const figures: number[] = []
    for (const step of unchanged ? [fresh, again, again] : [fresh, again]) {
      const ms = await timed(async () => {
        for (const body of step) await send(body)
      })
      figures.push((rowsOfRound / ms) * 1000)
    }
    return figures
  }
  const post = (server: Server) => perSecond((body) => server.post(upsert.path, body))
  const bare = (sql: pg.Client) => perSecond((body) => sql.query(upsert.bare, [body]))
  return {
    rows: [
      { name: `${name}, new`, unit: 'rows/s', goal: fresh },
      { name: `${name}, again`, unit: 'rows/s', goal: again },
      ...(unchanged
        ? [{ name: `${name}, unchanged`, unit: 'rows/s' as const, goal: unchanged }]
        : []),
    ],
    ours: ({ ours }) => post(ours),
    naive: ({ naive }) => post(naive),
    floor: ({ floor }) => bare(floor),
  }
}

const ofNaive = (ratio: number): Goal => ({ ratio, of: 'naive' })

export const salesWorkloads: Workload[] = [
  upsertWorkload(sales, {
    name: 'sales, 10,000 rows',
    fresh: ofNaive(1.5),
    again: ofNaive(2.2),
    unchanged: { ratio: 1.5, of: 'sales, 10,000 rows, new' },
  }),
  upsertWorkload(sales, {
    name: 'sales, 1,000-row calls',
    rowsOfCall: 1000,
    fresh: ofNaive(1.4),
    again: ofNaive(1.8),
  }),
]

const goals = { fresh: ofNaive(1.3), again: ofNaive(1.3) }

/** Products are last: they make the catalog larger. */
export const upsertWorkloads: Workload[] = [
  upsertWorkload(competitorPrices, { name: 'competitor prices, 10,000 rows', ...goals }),
  upsertWorkload(agreements, { name: 'agreements, 10,000 rows', ...goals }),
  upsertWorkload(products, { name: 'products, 10,000 rows', ...goals }),
]
