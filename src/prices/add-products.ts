import { type RawBuilder, sql } from 'kysely'
import { type Columns, findColumns } from '../catalog/columns.ts'
import { compileFilters, filterSql, type ProductFilters } from '../catalog/product-filters.ts'
import { type KeyedRow, readRowKeys } from '../catalog/row-key.ts'
import { Answer, backgroundThreshold } from '../contract/operation.ts'
import type { RowErrors } from '../contract/row-errors.ts'
import { readNumbers } from '../database/array-literal.ts'
import { inputRows } from '../database/input-rows.ts'
import type { Trx } from '../database/pool.ts'
import { enqueueJob } from '../jobs/enqueue.ts'
import { onFreeList, rejectBusy } from '../jobs/list-order.ts'
import { addDraftRows } from '../price-lists/draft-rows.ts'
import { revisionHeader } from '../price-lists/history/record-revision.ts'
import { publish } from '../price-lists/publish.ts'
import { lockPriceList, type PriceList, rejectUnmanaged } from '../price-lists/queries.ts'
import { positionedKeyColumns, readListName } from './payload.ts'
import { answerPlanOrJob } from './plans/enqueue-plan.ts'
import { planAddedProducts } from './plans/plan-moves.ts'

export const fixedKeys = new Set(['code', 'extensions'])

/** Adds products to a list, without prices, and publishes it. Returns the ids of the rows; above 100 products, the job. */
export const addProducts = onFreeList<'addProducts'>(async (trx, request, { boss }) => {
  const { account, body, query, errors, origin } = request
  const list = await lockPriceList(trx, account, readListName(body))
  rejectUnmanaged(list)
  const columns = await findColumns(trx, account)
  const rows = await readRowKeys(body.payload, columns.extensions, fixedKeys, errors)
  const ids = await findAllowedProducts(trx, list, { columns, rows, errors })
  errors.reject()
  const productIds = `{${[...ids].join(',')}}`
  if (query.plan === 'true') {
    await rejectBusy(trx, account, list.id)
    const plan = await planAddedProducts(trx, list, productIds, origin)
    return answerPlanOrJob(trx, list, request, plan)
  }
  if (ids.size > backgroundThreshold) {
    const job = { account, priceListId: list.id, kind: 'add-products' } as const
    return enqueueJob(trx, boss, { ...job, total: ids.size, productIds, origin })
  }
  await rejectBusy(trx, account, list.id)
  if (ids.size === 0) return new Answer([], revisionHeader(list.version))
  const rowIds = await addDraftRows(trx, list, productIds)
  const revision = await publish(trx, list, { kind: 'add_products', origin }, rowIds)
  return new Answer(readNumbers(rowIds), revisionHeader(revision))
})

/** Why a product cannot be added. */
export type ProductFault = 'unknown_product' | 'inactive_product' | 'filtered_out'

interface Named {
  columns: Columns
  rows: KeyedRow<unknown>[]
  errors: RowErrors
}

/** Returns the ids of the products, each once, in payload order. Reports rows whose product cannot be added. */
async function findAllowedProducts(
  trx: Trx,
  list: PriceList,
  { columns, rows, errors }: Named,
): Promise<Set<number>> {
  if (rows.length === 0) return new Set()
  const input = await inputRows(trx, positionedKeyColumns, rows)
  const { rows: found } = await sql<Found>`
    with candidates as materialized (
      select input.position, p.id, ${orUnknown} as fault
      from ${input} left join ${productFaults(list, columns)} using (code, extension_key)
    )
    select array_agg(id order by position) filter (where fault is null)::text as products,
      coalesce(json_agg(json_build_array(position, fault))
        filter (where fault is not null), '[]') as faults
    from candidates`.execute(trx)
  const { products, faults } = found[0] as Found
  for (const [position, fault] of faults) errors.add(position, 'code', fault, faultMessages[fault])
  return new Set(readNumbers(products))
}

interface Found {
  /** Ids of products without a fault, as the text of a Postgres array. */
  products: string | null
  faults: [position: number, ProductFault][]
}

/** A FROM item `p`: the account's products, each with the `fault` that keeps it from being added, or null. */
export function productFaults(list: PriceList, columns: Columns): RawBuilder<unknown> {
  const isWanted = filterSql(compileFilters(list.product_filters as ProductFilters, columns))
  return sql`(
    select p.id, p.code, p.extension_key, case
        when not coalesce(p.active, true) then 'inactive_product'
        when (${isWanted}) is not true then 'filtered_out'
      end as fault
    from products p
    left join product_attributes a on a.account_id = ${list.account_id} and a.code = p.code
    where p.account_id = ${list.account_id}
  ) as p`
}

/** SQL of the fault of a row left joined to `productFaults`. */
export const orUnknown: RawBuilder<ProductFault | null> = sql`case when p.id is null then 'unknown_product' else p.fault end`

export const faultMessages: Record<ProductFault, string> = {
  unknown_product: 'this code with these extensions is not in the catalog',
  inactive_product: 'this product is not active',
  filtered_out: "the list's product_filters exclude this product",
}
