import { isDeepStrictEqual } from 'node:util'
import { type RawBuilder, sql } from 'kysely'
import { type Positioned, uniqueRows } from '../contract/duplicates.ts'
import type { Feed, FeedCounts } from '../contract/feed.ts'
import type { Handler, Schemas } from '../contract/operation.ts'
import { unavailable } from '../contract/problem.ts'
import {
  arrayLiteral,
  columnsOf,
  type InputColumn,
  inputRows,
  readNumbers,
} from '../database/input-rows.ts'
import { analyzeLoaded } from '../database/planner.ts'
import type { Trx } from '../database/pool.ts'
import { type StagedRows, upsertStaged } from '../database/staging-table.ts'
import { mapCooperatively } from '../lib/cooperative.ts'
import { type Columns, findColumns, keepColumns } from './columns.ts'
import {
  attributesByCode,
  findDifferingAttributes,
  productColumns,
  productId,
} from './product-feed.ts'
import { type ProductRow, readEachProduct, readProductRows } from './product-rows.ts'
import { rowKey } from './row-key.ts'

type Product = Positioned<ProductRow>

/** Creates or updates products by code and extensions; what a row leaves out stays as it was. */
export const upsertProducts: Handler<'upsertProducts'> = ({ account, body, errors, inAccount }) =>
  inAccount(async (trx) => {
    const columns = await keepColumns(trx, account)
    const read = await readProductRows(body, columns, errors)
    const products = await uniqueRows(read, errors, rowKey)
    errors.reject()
    if (columns.attributes.length > 0) await upsertAttributes(trx, account, products)
    const ids = await upsertProductRows(trx, account, products)
    await analyzeProducts(trx, account, products.length)
    return ids
  })

/** Products from a file. The columns are locked last, when all rows are staged. */
export const feedProducts: Feed<'upsertProducts'> = async (trx, { account }) => {
  const columns = await findColumns(trx, account)
  return {
    columns: columns.all.map((column) => ({ ...column, isRequired: column.kind === 'extension' })),
    ignored: [],
    ids: [productId(account, columns)],
    input: productColumns,
    key: ['code', 'extension_key'],
    read: (rows: readonly Schemas['ProductInput'][], errors) =>
      readEachProduct(rows, columns, errors),
    findFaults: () => findDifferingAttributes(trx, columns),
    write: async (staged) => {
      if (!isDeepStrictEqual(await keepColumns(trx, account), columns))
        throw unavailable('The columns changed while the file was read; send it again.')
      return writeProducts(account, columns, staged)
    },
  }
}

async function writeProducts(
  account: number,
  { attributes }: Columns,
  staged: StagedRows,
): Promise<FeedCounts> {
  const { trx, input } = staged
  if (attributes.length > 0) await mergeAttributes(trx, account, attributesByCode)
  const counts = await upsertStaged(staged, upsertFrom(account, input))
  await analyzeProducts(trx, account, counts.created + counts.updated)
  return counts
}

/** Merges the given attributes into those of their codes. */
async function upsertAttributes(trx: Trx, account: number, products: Product[]): Promise<void> {
  const byCode = new Map<string, (string | null)[]>()
  await mapCooperatively(products, ({ row: { code, attributes } }) => {
    if (attributes.every((text) => text === null)) return
    const earlier = byCode.get(code) ?? []
    byCode.set(
      code,
      attributes.map((text, index) => text ?? earlier[index] ?? null),
    )
  })
  if (byCode.size === 0) return
  await mergeAttributes(trx, account, await inputRows(trx, attributeColumns, [...byCode]))
}

/** `input` has each code once. */
async function mergeAttributes(trx: Trx, account: number, input: RawBuilder<unknown>) {
  await sql`
    insert into product_attributes as present (account_id, code, attributes)
    select ${account}, code, attributes from ${input} order by code collate "C"
    on conflict (account_id, code) do update set attributes = (
      select array_agg(coalesce(given, kept) order by ordinal)
      from unnest(excluded.attributes, present.attributes) with ordinality as merged (given, kept, ordinal)
    )`.execute(trx)
}

const attributeColumns: InputColumn<[code: string, texts: (string | null)[]]>[] = [
  { name: 'code', type: 'text', value: ([code]) => code },
  { name: 'attributes', type: 'text[]', value: ([, texts]) => arrayLiteral(texts) },
]

const positionedColumns: InputColumn<Product>[] = [
  ...columnsOf(productColumns, ({ row }: Product) => row),
  { name: 'position', type: 'integer', value: ({ position }) => position },
]

/** Upserts rows sorted by key in one statement. Returns their ids in payload order. */
async function upsertProductRows(
  trx: Trx,
  account: number,
  products: Product[],
): Promise<Schemas['CreatedUpdated']> {
  const input = await inputRows(trx, positionedColumns, products)
  const { rows } = await sql<Record<'created' | 'updated', string | null>>`
    with input as materialized (
      select code, extensions, extension_key, costs, active, position from ${input}
    ), upserted as (${upsertFrom(account, sql`input`)})
    select (array_agg(id order by position) filter (where created))::text as created,
      (array_agg(id order by position) filter (where not created))::text as updated
    from input join upserted using (code, extension_key)`.execute(trx)
  const { created = null, updated = null } = rows[0] ?? {}
  return { created: readNumbers(created), updated: readNumbers(updated) }
}

/**
 * What a row leaves out stays as it was. All writers lock rows in one order, whatever the collation of the database.
 */
function upsertFrom(account: number, input: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    insert into products as present (account_id, code, extensions, extension_key, costs, active)
    select ${account}, code, extensions, extension_key, costs, active from ${input}
    order by code collate "C", extension_key collate "C"
    on conflict (account_id, code, extension_key) do update set
      active = coalesce(excluded.active, present.active),
      costs = coalesce((
        select array_agg(coalesce(given, kept) order by ordinal)
        from unnest(excluded.costs, present.costs) with ordinality as merged (given, kept, ordinal)
      ), '{}')
    returning id, code, extension_key, xmax = 0 as created`
}

async function analyzeProducts(trx: Trx, account: number, rows: number): Promise<void> {
  const load = { column: 'account_id', value: account, rows } as const
  await analyzeLoaded(trx, { table: 'products', ...load })
  await analyzeLoaded(trx, { table: 'product_attributes', ...load })
}
