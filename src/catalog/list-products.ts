import { sql } from 'kysely'
import type { Export } from '../contract/export.ts'
import type { Handler, Schemas } from '../contract/operation.ts'
import { pageOf } from '../contract/page.ts'
import { columnEntries } from './column-value.ts'
import { type Columns, findColumns } from './columns.ts'

/** One page of catalog rows in the order of their ids. */
export const listProducts: Handler<'listProducts'> = ({ account, query, inAccount }) =>
  inAccount(async (trx) => {
    const { offset, limit } = pageOf(query)
    const code = query?.code ?? null
    const columns = await findColumns(trx, account)
    const { rows: counts } = await sql<{ count: number }>`
      select count(*) from products where account_id = ${account} and (${code}::text is null or code = ${code})`.execute(
      trx,
    )
    const { rows } = await sql<StoredProduct>`
      select id, code, extensions, costs, coalesce(active, true) as active, attributes
      from (
        select * from products where account_id = ${account} and (${code}::text is null or code = ${code})
        order by id offset ${offset} limit ${limit}
      ) as page
      left join product_attributes using (account_id, code)
      order by id`.execute(trx)
    return { count: counts[0]?.count ?? 0, results: rows.map((row) => productOf(row, columns)) }
  })

/** All catalog rows, or those of a code, in the order of their ids. */
export const exportProducts: Export<'listProducts'> = async (trx, { account, query }) => {
  const code = query?.code ?? null
  const columns = await findColumns(trx, account)
  const { extensions, attributes, costs } = columns
  const names = [...extensions, ...attributes, ...costs].map(({ name }) => name)
  return {
    columns: ['extended_catalog_id', 'code', ...names, 'active'],
    query: sql<StoredProduct>`
      select p.id, p.code, extensions, costs, coalesce(active, true) as active, attributes
      from products p
      left join product_attributes a on a.account_id = ${account} and a.code = p.code
      where p.account_id = ${account} and (${code}::text is null or p.code = ${code})
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
