import { sql } from 'kysely'
import { uniqueRows } from '../contract/duplicates.ts'
import type { Handler } from '../contract/operation.ts'
import { arrayLiteral } from '../database/array-literal.ts'
import type { Trx } from '../database/pool.ts'
import { analyzeLoaded } from '../database/statistics.ts'
import { keepColumns } from './columns.ts'
import { type ProductRow, readProductRows } from './product-rows.ts'
import { extensionKey, rowKey } from './row-key.ts'

/** Creates or updates catalog rows by code and extensions; what a row leaves out stays as it was. */
export const upsertProducts: Handler<'upsertProducts'> = ({ account, body, errors, inAccount }) =>
  inAccount(async (trx) => {
    const columns = await keepColumns(trx, account)
    const rows = uniqueRows(readProductRows(body, columns, errors), errors, rowKey)
    errors.reject()
    if (columns.attributes.length > 0)
      await upsertAttributes(
        trx,
        account,
        rows.map(({ row }) => row),
      )
    const products = await upsertProductRows(
      trx,
      account,
      rows.map(({ row }) => row),
    )
    const load = { column: 'account_id', value: account, rows: rows.length } as const
    await analyzeLoaded(trx, { table: 'products', ...load })
    await analyzeLoaded(trx, { table: 'product_attributes', ...load })
    const inPayloadOrder = rows
      .map(({ position }, index) => ({ position, ...(products[index] as UpsertedProduct) }))
      .sort((a, b) => a.position - b.position)
    return {
      created: inPayloadOrder.filter(({ created }) => created).map(({ id }) => id),
      updated: inPayloadOrder.filter(({ created }) => !created).map(({ id }) => id),
    }
  })

/** Merges the attributes that are given into those of their codes. */
async function upsertAttributes(trx: Trx, account: number, rows: ProductRow[]): Promise<void> {
  const byCode = new Map<string, (string | null)[]>()
  for (const { code, attributes } of rows) {
    const merged = byCode.get(code) ?? []
    byCode.set(
      code,
      attributes.map((text, index) => text ?? merged[index] ?? null),
    )
  }
  const given = [...byCode].filter(([, attributes]) => attributes.some((text) => text !== null))
  if (given.length === 0) return
  await sql`
    insert into product_attributes as present (account_id, code, attributes)
    select ${account}, code, attributes::text[]
    from unnest(${given.map(([code]) => code)}::text[], ${given.map(([, texts]) => arrayLiteral(texts))}::text[])
      as input (code, attributes)
    order by code
    on conflict (account_id, code) do update set attributes = (
      select array_agg(coalesce(given, kept) order by ordinal)
      from unnest(excluded.attributes, present.attributes) with ordinality as merged (given, kept, ordinal)
    )`.execute(trx)
}

interface UpsertedProduct {
  id: number
  created: boolean
}

/** Upserts the rows in one statement; answers id and whether it was created, in the order of `rows`. */
async function upsertProductRows(
  trx: Trx,
  account: number,
  rows: ProductRow[],
): Promise<UpsertedProduct[]> {
  const columns = [
    sql`${rows.map(({ code }) => code)}::text[]`,
    sql`${rows.map(({ extensions }) => arrayLiteral(extensions))}::text[]`,
    sql`${rows.map(({ extensions }) => extensionKey(extensions))}::text[]`,
    sql`${rows.map(({ costs }) => arrayLiteral(costs))}::text[]`,
    sql`${rows.map(({ active }) => active)}::boolean[]`,
  ]
  const { rows: products } = await sql<UpsertedProduct>`
    with input as materialized (
      select code, extensions::text[] as extensions, extension_key, costs::numeric[] as costs, active, position
      from unnest(${sql.join(columns)}) with ordinality as input (code, extensions, extension_key, costs, active, position)
    ), upserted as (
      insert into products as present (account_id, code, extensions, extension_key, costs, active)
      select ${account}, code, extensions, extension_key, costs, active from input order by code, extension_key
      on conflict (account_id, code, extension_key) do update set
        active = coalesce(excluded.active, present.active),
        costs = coalesce((
          select array_agg(coalesce(given, kept) order by ordinal)
          from unnest(excluded.costs, present.costs) with ordinality as merged (given, kept, ordinal)
        ), '{}')
      returning id, code, extension_key, xmax = 0 as created
    )
    select upserted.id, upserted.created from input join upserted using (code, extension_key) order by position`.execute(
    trx,
  )
  return products
}
