import { type RawBuilder, sql } from 'kysely'
import type { Export } from '../contract/export.ts'
import {
  type OrderedRows,
  type OrderKey,
  orderBy,
  orderKeys,
  readOrderedPage,
  rowsOfTable,
} from '../contract/list-order.ts'
import { type OperationRequest, type Schemas, transaction } from '../contract/operation.ts'
import { onPage } from '../contract/read-page.ts'
import { columnEntries } from './column-value.ts'
import { type Columns, findColumns, keyValues } from './columns.ts'
import { findProducts } from './product-search.ts'

/** One page of products, by id or in the requested order. */
export const listProducts = transaction<'listProducts'>(async (trx, { account, query }) => {
  const columns = await findColumns(trx, account)
  const ordered = orderedProducts(account, query, columns)
  const page = sql<StoredProduct>`
    select id, code, extensions, costs, coalesce(active, true) as active, attributes
    from (select * from products where account_id = ${account} and id = ${onPage}) as page
    left join product_attributes using (account_id, code)`
  const { count, rows } = await readOrderedPage(trx, ordered, query, page)
  return { count, results: rows.map((row) => productOf(row, columns)) }
})

type Query = OperationRequest<'listProducts'>['query']

/** A suffix greater than any that a code can have. */
const last = '\u{10ffff}'.repeat(255)

/**
 * SQL of FROM and WHERE. Only the given filters become conditions: `$1 is null or code = $1` would be planned for all
 * products and read the whole catalog for one code.
 */
function wantedProducts(account: number, query: Query, columns: Columns): RawBuilder<unknown> {
  const { code, code_prefix: prefix } = query
  const { join, condition } = findProducts(query, account, columns, sql`p`)
  const conditions = [
    sql`p.account_id = ${account}`,
    ...(code === undefined ? [] : [sql`p.code = ${code}`]),
    ...(prefix === undefined
      ? []
      : [sql`p.code ^@ ${prefix} and p.code between ${prefix} and ${prefix + last}`]),
    condition,
  ]
  return sql`from products p ${join} where ${sql.join(conditions, sql` and `)}`
}

function orderedProducts(account: number, query: Query, columns: Columns): OrderedRows {
  const [code, ...extensions] = keyValues(columns).map((value) => ({ value }))
  const keys = orderKeys(query.order, { code } as Record<string, OrderKey>, extensions)
  const rows = sql`(select p.id, p.code, p.extensions ${wantedProducts(account, query, columns)})`
  return rowsOfTable('products', account, { rows, keys })
}

/** Exports all products that pass the filters, in the order of `listProducts`. */
export const exportProducts: Export<'listProducts'> = async (trx, { account, query }) => {
  const columns = await findColumns(trx, account)
  const { extensions, attributes, costs } = columns
  const names = [...extensions, ...attributes, ...costs].map(({ name }) => name)
  const { keys } = orderedProducts(account, query, columns)
  return {
    columns: ['extended_catalog_id', 'code', ...names, 'active'],
    query: sql<StoredProduct>`
      select id, code, extensions, costs, coalesce(active, true) as active, attributes
      from (select p.* ${wantedProducts(account, query, columns)}) as listed
      left join product_attributes using (account_id, code)
      order by ${orderBy(keys)}`,
    rowsOf: (row: StoredProduct) => [productOf(row, columns)],
  }
}

interface StoredProduct {
  id: number
  code: string
  extensions: string[]
  costs: (number | null)[]
  active: boolean
  attributes: (string | null)[] | null
}

function productOf(row: StoredProduct, columns: Columns): Schemas['Product'] {
  const costs = columns.costs.flatMap(({ name }, index) => {
    const cost = row.costs[index]
    return cost === null || cost === undefined ? [] : [[name, cost] as const]
  })
  return {
    extended_catalog_id: row.id,
    code: row.code,
    ...Object.fromEntries(columnEntries(columns.extensions, row.extensions)),
    ...Object.fromEntries(columnEntries(columns.attributes, row.attributes ?? [])),
    ...Object.fromEntries(costs),
    active: row.active,
  }
}
