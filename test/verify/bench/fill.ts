import type { BenchService } from './service.ts'

/** A list of `rows` rows, filled by SQL. */
export interface BenchList {
  id: number
  name: string
  rows: number
}

/** Code of product `index`; every product has the extension country UK. */
export const codeOf = (index: number) => `P${String(index).padStart(7, '0')}`

/** Declares the columns (two attributes, two costs) and fills the catalog up to `rows` products. */
export async function fillCatalog(service: BenchService, rows: number): Promise<void> {
  await service.call('POST', '/api/v1/product_catalog/schema/create_schema/', {
    attributes: [
      { name: 'brand', type: 'string' },
      { name: 'family', type: 'string' },
    ],
    extensions: [{ name: 'country', type: 'string' }],
    costs: [{ name: 'purchase' }, { name: 'freight' }],
  })
  const { account, sql } = service
  const range = `generate_series((select count(*) from products), ${rows - 1}) i`
  await sql.query(`
    insert into product_attributes select ${account}, 'P' || lpad(i::text, 7, '0'), array['B' || i % 50, 'F' || i % 100]
    from ${range} on conflict do nothing`)
  await sql.query(`
    insert into products (account_id, code, extensions, extension_key, costs, active)
    select ${account}, 'P' || lpad(i::text, 7, '0'), '{UK}', '["UK"]', '{1.5,0.25}', true from ${range}`)
  await sql.query('vacuum analyze products, product_attributes')
}

/** A published list of the first `rows` products, or of those that `where` (over the index `i`) selects. */
export async function fillList(
  service: BenchService,
  name: string,
  {
    rows,
    where = 'true',
    ...settings
  }: { rows: number; where?: string; [setting: string]: unknown },
): Promise<BenchList> {
  const { account, sql } = service
  const list = { name, valid_from: '2026-01-01', valid_to: '2026-12-31', ...settings }
  const [created] = await service.call('POST', '/api/v1/price_list/bulk_create/', [list])
  const { rows: inserted } = await sql.query(`
    with inserted as (
      insert into price_list_rows (account_id, price_list_id, product_id, code, extensions, extension_key, prices, added_version)
      select ${account}, ${created.id}, id, code, extensions, extension_key,
        (select array_fill(9.99::numeric, array[cardinality(price_dimensions)]) from price_lists where id = ${created.id}), 1
      from (select *, substr(code, 2)::integer as i from products) p where i < ${rows} and ${where} order by code
      returning 1
    ) select count(*) from inserted`)
  await sql.query(
    `update price_lists set version = 1, published_at = now() where id = ${created.id}`,
  )
  await sql.query('vacuum analyze price_list_rows, price_lists')
  return { id: created.id, name, rows: Number(inserted[0].count) }
}

/** `count` distinct indexes below `below`. */
export function someIndexes(count: number, below: number): number[] {
  const indexes = new Set<number>()
  while (indexes.size < count) indexes.add(Math.floor(Math.random() * below))
  return [...indexes]
}
