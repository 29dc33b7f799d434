import { type RawBuilder, sql } from 'kysely'
import { filterSql } from '../../catalog/product-filters.ts'
import type { Answer, Origin, Schemas } from '../../contract/operation.ts'
import { onlyRow } from '../../database/only-row.ts'
import type { Trx } from '../../database/pool.ts'
import { isPublishedNow, joinProducts } from '../../price-lists/list-rows.ts'
import type { PriceList } from '../../price-lists/queries.ts'
import { keyOfRow, makePlan } from '../plans/plan-rows.ts'
import { heldPrice } from '../write/stale-cells.ts'
import { type FigureCells, joinFigures } from './joined-figures.ts'
import type { RepriceCall } from './reprice-call.ts'

/** Counts the cells that a call selects. */
export async function countCells(
  trx: Trx,
  list: PriceList,
  { filters, dimensions, days }: RepriceCall,
): Promise<number> {
  const cellsOfRow = dimensions.length * days.length
  if (filters.length === 0) return list.row_count * cellsOfRow
  const { count } = await onlyRow<{ count: number }>(trx)`
    select count(*) as count from ${selectedRows(list, filters)}`
  return count * cellsOfRow
}

const cellColumns = [
  ...['row_id', 'product_id', 'code', 'extensions', 'extension_key', 'dimension', 'date'],
  ...['costs', 'old'],
]

/**
 * Makes a plan of new prices for a locked list, in one statement. A missing price reads as 0; a result of 0 leaves it
 * missing.
 */
export async function planReprice(
  trx: Trx,
  list: PriceList,
  call: RepriceCall,
  origin: Origin,
): Promise<Answer<Schemas['Plan']>> {
  const { formula } = call
  const columns = [...new Set([...cellColumns, ...formula.inputs])]
  const priced = formula.pricedCells(await selectedCells(trx, list, call), columns)
  return makePlan(
    trx,
    { operation: 'reprice', list, origin },
    sql`
      select null::integer as position, row_id, product_id, code, extensions, extension_key, dimension, date,
        null as action, costs, old, case when old is not null or value <> 0 then value end as new, reason,
        ${formula.named} as inputs
      from ${priced}`,
  )
}

/** SQL of a FROM item `cell`: the cells, their prices, and the inputs of the formula. */
async function selectedCells(
  trx: Trx,
  list: PriceList,
  { columns, formula, filters, dimensions, days, ...options }: RepriceCall,
): Promise<RawBuilder<unknown>> {
  const rows = selectedRows(list, filters)
  const codes = filters.length === 0 ? undefined : sql`select r.code from ${rows}`
  const cells: FigureCells = { list, columns, inputs: formula.inputs, dimensions, codes }
  const figures = await joinFigures(trx, cells, options)
  const { held, months } = heldPrice(list)
  const read = [sql`coalesce(${held}, 0) as price`, sql`p.costs`]
  return sql`(
    select ${keyOfRow}, f.dimension, f.date, ${held} as old,
      ${sql.join([...read, ...figures.flatMap((one) => one.columns)])}
    from ${rows} cross join (
      select dimension, date from unnest(${dimensions}::integer[]) as dimension cross join unnest(${days}::date[]) as date
    ) as f
    ${months}
    ${joinProducts(list)}
    ${sql.join(
      figures.map(({ join }) => join),
      sql` `,
    )}
  ) as cell`
}

/** SQL of a FROM item `r` with the published rows that the filters allow, and their attributes. */
function selectedRows(list: PriceList, filters: RepriceCall['filters']): RawBuilder<unknown> {
  const { account_id, id } = list
  return sql`(
    select p.id, p.product_id, p.code, p.extensions, p.extension_key, p.prices, a.attributes
    from (
      select * from price_list_rows r
      where r.account_id = ${account_id} and r.price_list_id = ${id} and ${isPublishedNow(list)}
    ) as p
    left join product_attributes a on a.account_id = ${account_id} and a.code = p.code
    where ${filterSql(filters)}
  ) as r`
}
