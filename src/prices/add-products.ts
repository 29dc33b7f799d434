import { sql } from 'kysely'
import { type Columns, findColumns } from '../catalog/columns.ts'
import { compileFilters, filterSql, type ProductFilters } from '../catalog/product-filters.ts'
import { type KeyedRow, readRowKeys } from '../catalog/row-key.ts'
import type { Handler } from '../contract/operation.ts'
import type { RowErrors } from '../contract/row-errors.ts'
import { inputRows } from '../database/input-rows.ts'
import type { Trx } from '../database/pool.ts'
import { enqueueJob } from '../jobs/enqueue.ts'
import { rejectBusy, takingTurns } from '../jobs/turn.ts'
import { addDraftRows, analyzeRows } from '../price-lists/draft-rows.ts'
import { type IdsText, publish } from '../price-lists/publication.ts'
import { lockPriceList, type PriceList, rejectUnmanaged } from '../price-lists/queries.ts'
import { keyColumns } from './key-input.ts'
import { readListName } from './payload.ts'

/** Up to this many products are added at once; more become a background job. */
export const atOnceMax = 100

export const fixedKeys = new Set(['code', 'extensions'])

/** Adds products to a list at price 0 and publishes it. Answers the ids of the rows, or the job above 100 products. */
export const addProducts: Handler<'addProducts'> = (
  { account, body, errors, inAccount },
  { boss },
) =>
  takingTurns(() =>
    inAccount(async (trx) => {
      const list = await lockPriceList(trx, account, readListName(body))
      rejectUnmanaged(list)
      const columns = await findColumns(trx, account)
      const rows = readRowKeys(body.payload, columns.extensions, fixedKeys, errors)
      const { productIds, count } = await findAllowedProducts(trx, list, columns, rows, errors)
      errors.reject()
      if (count > atOnceMax) {
        const job = { account, priceListId: list.id, kind: 'add-products', total: count } as const
        return enqueueJob(trx, boss, { ...job, productIds })
      }
      await rejectBusy(trx, account, list.id)
      if (count === 0) return []
      return addAtOnce(trx, list, productIds)
    }),
  )

async function addAtOnce(trx: Trx, list: PriceList, productIds: IdsText): Promise<number[]> {
  const rowIds = await addDraftRows(trx, list, productIds)
  await analyzeRows(trx, list, atOnceMax)
  await publish(trx, list)
  return rowIds.slice(1, -1).split(',').map(Number)
}

type Fault = 'unknown_product' | 'inactive_product' | 'filtered_out'

interface Found {
  /** Each product once, in payload order. */
  productIds: IdsText
  count: number
  faults: [position: number, Fault][]
}

/** The products that the rows name; rows whose product cannot be added are errors. */
async function findAllowedProducts(
  trx: Trx,
  list: PriceList,
  columns: Columns,
  keyed: KeyedRow<unknown>[],
  errors: RowErrors,
): Promise<Found> {
  const filters = compileFilters(list.product_filters as ProductFilters, columns)
  const input = await inputRows(trx, keyColumns, keyed)
  const { rows } = await sql<Found>`
    with candidates as materialized (
      select input.position, p.id, case
          when p.id is null then 'unknown_product'
          when not coalesce(p.active, true) then 'inactive_product'
          when (${filterSql(filters)}) is not true then 'filtered_out'
        end as fault
      from ${input}
      left join products p on p.account_id = ${list.account_id} and p.code = input.code
        and p.extension_key = input.extension_key
      left join product_attributes a on a.account_id = ${list.account_id} and a.code = p.code
    ), products as (
      select id, min(position) as position from candidates where id is not null group by id
    )
    select
      coalesce((select array_agg(id order by position) from products), '{}')::text as "productIds",
      (select count(*) from products) as count,
      (select coalesce(json_agg(json_build_array(position, fault) order by position), '[]')
        from candidates where fault is not null) as faults`.execute(trx)
  const found = rows[0] as Found
  for (const [position, fault] of found.faults)
    errors.add(position, 'code', fault, faultMessages[fault])
  return found
}

/** What is wrong with a product that cannot be added. */
export const faultMessages: Record<Fault, string> = {
  unknown_product: 'this code with these extensions is not in the catalog',
  inactive_product: 'this product is not active',
  filtered_out: "the list's product_filters exclude this product",
}
