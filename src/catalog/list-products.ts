import { type RawBuilder, sql } from 'kysely'
import type { Export } from '../contract/export.ts'
import type { Handler, Schemas } from '../contract/operation.ts'
import { anyOf, pageOf, readPageOfLargeRows } from '../contract/read-page.ts'
import { columnEntries } from './column-value.ts'
import { type Columns, findColumns } from './columns.ts'

/** One page of products in the order of their ids. */
export const listProducts: Handler<'listProducts'> = ({ account, query, inAccount }) =>
  inAccount(async (trx) => {
    const { offset, limit } = pageOf(query)
    const wanted = wantedProducts(account, query)
    const columns = await findColumns(trx, account)
    const ids = sql`select id from products where ${wanted} order by id offset ${offset} limit ${limit}`
    const page = sql<StoredProduct>`
      select id, code, extensions, costs, coalesce(active, true) as active, attributes
      from (select * from products where account_id = ${account} and id = ${anyOf(ids)}) as page
      left join product_attributes using (account_id, code)`
    const all = sql`select from products where ${wanted}`
    const { count, rows } = await readPageOfLargeRows(trx, { all, page })
    return { count, results: rows.map((row) => productOf(row, columns)) }
  })

interface Filters {
  code?: string
  code_prefix?: string
}

/** A suffix greater than any that a code can have. */
const last = '\u{10ffff}'.repeat(255)

/**
 * Only the filters that are given become conditions. A condition like `$1 is null or code = $1` would be planned for
 * all products, and read the whole catalog for one code.
 */
function wantedProducts(account: number, filters: Filters): RawBuilder<boolean> {
  const { code, code_prefix: prefix } = filters
  const conditions = [
    sql`account_id = ${account}`,
    ...(code === undefined ? [] : [sql`code = ${code}`]),
    ...(prefix === undefined
      ? []
      : [sql`code ^@ ${prefix} and code between ${prefix} and ${prefix + last}`]),
  ]
  return sql.join(conditions, sql` and `)
}

/** All products that the filters leave, in the order of their ids. */
export const exportProducts: Export<'listProducts'> = async (trx, { account, query }) => {
  const columns = await findColumns(trx, account)
  const { extensions, attributes, costs } = columns
  const names = [...extensions, ...attributes, ...costs].map(({ name }) => name)
  return {
    columns: ['extended_catalog_id', 'code', ...names, 'active'],
    query: sql<StoredProduct>`
      select p.id, p.code, extensions, costs, coalesce(active, true) as active, attributes
      from (select * from products where ${wantedProducts(account, query)}) as p
      left join product_attributes a on a.account_id = ${account} and a.code = p.code
      order by p.id`,
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
