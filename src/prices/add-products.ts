import { sql } from 'kysely'
import { type Columns, findColumns } from '../catalog/columns.ts'
import { compileFilters, filterSql, type ProductFilters } from '../catalog/product-filters.ts'
import { extensionKey, type KeyedRow, readRowKeys, rowKey } from '../catalog/row-key.ts'
import type { Handler } from '../contract/operation.ts'
import type { ErrorCode, RowErrors } from '../contract/row-errors.ts'
import type { Trx } from '../database/pool.ts'
import { enqueueJob } from '../jobs/enqueue.ts'
import { rejectBusy, takingTurns } from '../jobs/turn.ts'
import { addDraftRows, findRowIds, publish } from '../price-lists/publication.ts'
import { lockPriceList, type PriceList, rejectUnmanaged } from '../price-lists/queries.ts'
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
      const productIds = await findAllowedProducts(trx, list, columns, rows, errors)
      errors.reject()
      if (productIds.length > atOnceMax) {
        const total = productIds.length
        return enqueueJob(trx, boss, {
          account,
          priceListId: list.id,
          kind: 'add-products',
          total,
          productIds,
        })
      }
      await rejectBusy(trx, account, list.id)
      if (productIds.length === 0) return []
      await addDraftRows(trx, list, productIds)
      await publish(trx, list)
      return findRowIds(trx, list, productIds)
    }),
  )

/** What the catalog says of a product that is to be added; all null: it has none. */
export interface Candidate {
  id: number | null
  active: boolean | null
  allowed: boolean | null
}

/** Ids of the products that the rows name, each once, in payload order; rows whose product cannot be added are errors. */
async function findAllowedProducts(
  trx: Trx,
  list: PriceList,
  columns: Columns,
  rows: KeyedRow<unknown>[],
  errors: RowErrors,
): Promise<number[]> {
  const distinct = [...new Map(rows.map((row) => [rowKey(row), row])).values()]
  const filters = filterSql(compileFilters(list.product_filters as ProductFilters, columns))
  const { rows: candidates } = await sql<Candidate>`
    select p.id, coalesce(p.active, true) as active, ${filters} as allowed
    from unnest(
      ${distinct.map(({ code }) => code)}::text[],
      ${distinct.map(({ extensions }) => extensionKey(extensions))}::text[]
    ) with ordinality as input (code, extension_key, position)
    left join products p on p.account_id = ${list.account_id} and p.code = input.code
      and p.extension_key = input.extension_key
    left join product_attributes a on a.account_id = ${list.account_id} and a.code = p.code
    order by input.position`.execute(trx)
  const byKey = new Map(distinct.map((row, index) => [rowKey(row), candidates[index] as Candidate]))
  for (const row of rows) {
    const fault = findFault(byKey.get(rowKey(row)) as Candidate)
    if (fault) errors.add(row.position, 'code', fault.code, fault.message)
  }
  return candidates.flatMap(({ id }) => id ?? [])
}

/** Why a product cannot be added; undefined: it can. */
export function findFault({
  id,
  active,
  allowed,
}: Candidate): { code: ErrorCode; message: string } | undefined {
  if (id === null)
    return {
      code: 'unknown_product',
      message: 'this code with these extensions is not in the catalog',
    }
  if (!active) return { code: 'inactive_product', message: 'this product is not active' }
  if (!allowed)
    return { code: 'filtered_out', message: "the list's product_filters exclude this product" }
  return undefined
}
