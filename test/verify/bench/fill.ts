import type pg from 'pg'
import type { Bench, Service } from './servers.ts'

export const storedRows = 100_000

/** Code of product `index`; every product has the extension country UK. */
export const codeOf = (index: number) => `P${String(index).padStart(7, '0')}`

/** The same data on each side: 100,000 products, a list of them all, 100,000 sales. */
export async function fill({ ours, naive, floor }: Bench): Promise<void> {
  await fillService(ours, storedRows)
  for (const sql of [naive.sql, floor]) {
    await sql.query(`
      insert into products (code, country, brand, family, purchase, freight)
      select 'P' || lpad(i::text, 7, '0'), 'UK', 'B' || i % 50, 'F' || i % 100, 1.5, 0.25
      from generate_series(0, ${storedRows - 1}) i`)
    await sql.query(`
      insert into price_lists (name, valid_from, valid_to) values ('Bench', '2026-01-01', '2026-12-31');
      insert into price_list_rows (price_list_id, product_id, price)
      select 1, id, 9.99 from products order by id`)
    await fillSales(sql, storedRows)
  }
}

/** Fills the tables of a service in the same way, with this many rows each. */
export async function fillService(service: Service, rows: number): Promise<void> {
  await fillCatalog(service, rows)
  await fillList(service, 'Bench', { rows })
  await fillSales(service.sql, rows, service.account)
}

/** Sales with random keys; the tables of the service also have the account. */
export async function fillSales(sql: pg.Client, rows: number, account?: number): Promise<void> {
  const [column, value] = account === undefined ? ['', ''] : ['account_id,', `${account},`]
  await sql.query(`
    insert into sales (${column} transaction_id, price_list_name, price_dimension, code, extension, quantity,
      active_price, client_code, agreement_code, departure_date, revenue, transaction_date, currency)
    select ${value} substr(md5(random()::text), 1, 20), 'Bench', 'price', substr(md5(random()::text), 1, 8),
      'United Kingdom', 6, 2.55, '17850', 'A-1', '2026-01-01', 15.30, '2026-01-01T08:26:00Z', 'GBP'
    from generate_series(1, ${rows})`)
}

/** Declares the columns (two attributes, two costs) and fills the catalog. */
async function fillCatalog(service: Service, rows: number): Promise<void> {
  const { account, sql } = service
  const columns = {
    attributes: [
      { name: 'brand', type: 'string' },
      { name: 'family', type: 'string' },
    ],
    extensions: [{ name: 'country', type: 'string' }],
    costs: [{ name: 'purchase' }, { name: 'freight' }],
  }
  await service.post('/api/v1/product_catalog/schema/create_schema/', JSON.stringify(columns))
  await service.post(
    '/api/v1/competitor_prices/schema/create_schema/',
    JSON.stringify({ attributes_config: ['code', 'country'] }),
  )
  const range = `generate_series(0, ${rows - 1}) i`
  await sql.query(`
    insert into product_attributes select ${account}, 'P' || lpad(i::text, 7, '0'), array['B' || i % 50, 'F' || i % 100]
    from ${range}`)
  await sql.query(`
    insert into products (account_id, code, extensions, extension_key, costs, active)
    select ${account}, 'P' || lpad(i::text, 7, '0'), '{UK}', '["UK"]', '{1.5,0.25}', true from ${range}`)
  await sql.query('vacuum analyze products, product_attributes')
}

/** Creates a price list through a server. */
export async function createList(
  server: Pick<Service, 'post'>,
  name: string,
  settings: Record<string, unknown> = {},
): Promise<void> {
  const list = { name, valid_from: '2026-01-01', valid_to: '2026-12-31', ...settings }
  await server.post('/api/v1/price_list/bulk_create/', JSON.stringify([list]))
}

/** A published list of the first `rows` products, with a price of 9.99 in each dimension. Returns its id. */
export async function fillList(
  service: Service,
  name: string,
  { rows, ...settings }: { rows: number; [setting: string]: unknown },
): Promise<number> {
  const { account, sql } = service
  await createList(service, name, settings)
  const { rows: lists } = await sql.query(
    `update price_lists set version = 1, row_count = $2, published_at = now() where name = $1
     returning id::integer, array_fill(9.99::numeric, array[cardinality(price_dimensions)])::text as prices`,
    [name, rows],
  )
  const [{ id, prices }] = lists
  await sql.query(
    `insert into price_list_rows (account_id, price_list_id, product_id, code, extensions, extension_key, prices, added_version)
     select account_id, $1, id, code, extensions, extension_key, $2::numeric[], 1 from products
     where account_id = $3 and code collate "C" < $4 and code like 'P%' order by code`,
    [id, prices, account, codeOf(rows)],
  )
  await sql.query('vacuum analyze price_list_rows, price_lists')
  return id
}

/** `count` distinct indexes below `below`. */
export function someIndexes(count: number, below: number): number[] {
  const indexes = new Set<number>()
  while (indexes.size < count) indexes.add(Math.floor(Math.random() * below))
  return [...indexes]
}
