import { isDeepStrictEqual } from 'node:util'
import { type RawBuilder, sql } from 'kysely'
import { idsInPayloadOrder } from '../contract/duplicates.ts'
import type { FeedCounts, Upsert } from '../contract/feed.ts'
import type { Schemas } from '../contract/operation.ts'
import { arrayLiteral } from '../database/array-literal.ts'
import {
  type InputColumn,
  type InsertRows,
  insertRows,
  selectedRows,
} from '../database/input-rows.ts'
import { analyzeLoaded } from '../database/planner.ts'
import type { Trx } from '../database/pool.ts'
import {
  type StagedRows,
  type UpsertedRows,
  upsertKeys,
  upsertStaged,
} from '../database/staging-table.ts'
import { mapCooperatively } from '../lib/cooperative.ts'
import { type Columns, findColumns, keepColumns } from './columns.ts'
import {
  attributesByCode,
  findDifferingAttributes,
  productColumns,
  productId,
} from './product-feed.ts'
import {
  comparingAttributes,
  type ProductRow,
  productKey,
  readProductRows,
} from './product-rows.ts'

/** Creates or updates products by code and extensions; what a row leaves out stays as it was. */
export const upsertProducts: Upsert<'upsertProducts'> = async (trx, { account }) => {
  const columns = await findColumns(trx, account)
  return {
    columns: columns.all.map((column) => ({ ...column, isRequired: column.kind === 'extension' })),
    ignored: [],
    ids: [productId(account, columns)],
    table: 'products',
    input: productColumns,
    key: ['code', 'extension_key'],
    keyOf: productKey,
    read: (rows: readonly Schemas['ProductInput'][], errors) =>
      readProductRows(rows, columns, errors),
    compare: comparingAttributes(columns),
    findFaults: () => findDifferingAttributes(trx, columns),
    hold: async () => isDeepStrictEqual(await keepColumns(trx, account), columns),
    write: (staged) => writeProducts(account, columns, staged),
    upsert: async (input, rows: readonly ProductRow[]) => {
      if (columns.attributes.length > 0) await upsertAttributes(trx, account, columns, rows)
      return upsertKeys(trx, upsertFrom(account, columns, input), sql`true`)
    },
    answer: async (written: UpsertedRows[], payload) => {
      await analyzeLoaded(trx, {
        table: 'product_attributes',
        owner: account,
        rows: payload.keys().length,
      })
      return {
        created: await idsInPayloadOrder(
          written.map(({ created }) => created),
          payload,
        ),
        updated: await idsInPayloadOrder(
          written.map(({ updated }) => updated),
          payload,
        ),
      }
    },
  }
}

async function writeProducts(
  account: number,
  columns: Columns,
  staged: StagedRows,
): Promise<FeedCounts> {
  const { trx, input } = staged
  if (columns.attributes.length > 0)
    await mergeAttributes(trx, account, columns, selectedRows(attributesByCode))
  // Every row is written, so the number of unchanged ones is unknown.
  const { created, updated } = await upsertStaged(staged, upsertFrom(account, columns, input))
  await analyzeLoaded(trx, { table: 'product_attributes', owner: account, rows: created + updated })
  return { created, updated }
}

/** Merges the given attributes into those of their codes. */
async function upsertAttributes(
  trx: Trx,
  account: number,
  columns: Columns,
  products: readonly ProductRow[],
): Promise<void> {
  const byCode = new Map<string, (string | null)[]>()
  await mapCooperatively(products, ({ code, attributes }) => {
    if (attributes.every((text) => text === null)) return
    const earlier = byCode.get(code) ?? []
    byCode.set(
      code,
      attributes.map((text, index) => text ?? earlier[index] ?? null),
    )
  })
  if (byCode.size === 0) return
  // The default input holds the products, which are written next.
  const input = await insertRows(trx, attributeColumns, [...byCode], 'attributes_input')
  await mergeAttributes(trx, account, columns, input)
}

/** `input` must have each code once. */
async function mergeAttributes(
  trx: Trx,
  account: number,
  { attributes }: Columns,
  input: InsertRows,
) {
  const merged = mergedArray('attributes', 'text', attributes.length)
  await sql`
    insert into product_attributes as present (account_id, code, attributes)
    ${input.rows((column) => [sql`${account}`, column('code'), column('attributes')])}
    on conflict (account_id, code) do update set attributes = ${merged}
    where present.attributes <> ${merged}`.execute(trx)
}

/**
 * SQL of an array of the given values, or else the stored ones, by ordinal. Unnesting both would take four times as
 * long.
 */
function mergedArray(name: string, type: 'text' | 'numeric', length: number): RawBuilder<unknown> {
  const values = Array.from({ length }, (_, index) => {
    const place = sql.raw(`${name}[${index + 1}]`)
    return sql`coalesce(excluded.${place}, present.${place})`
  })
  return sql`array[${sql.join(values)}]::${sql.raw(type)}[]`
}

const attributeColumns: InputColumn<[code: string, texts: (string | null)[]]>[] = [
  { name: 'code', type: 'text', value: ([code]) => code },
  { name: 'attributes', type: 'text[]', value: ([, texts]) => arrayLiteral(texts) },
]

const upsertedColumns = ['code', 'extensions', 'extension_key', 'costs', 'active']

/** What a row leaves out stays as it was. */
function upsertFrom(account: number, { costs }: Columns, input: InsertRows): RawBuilder<unknown> {
  return sql`
    insert into products as present (account_id, ${sql.join(upsertedColumns.map((name) => sql.ref(name)))})
    ${input.rows((column) => [sql`${account}`, ...upsertedColumns.map(column)])}
    on conflict (account_id, code, extension_key) do update set
      active = coalesce(excluded.active, present.active),
      costs = ${mergedArray('costs', 'numeric', costs.length)}
    returning code || E'\\n' || extension_key as key, id, xmax = 0 as created`
}
