import { type RawBuilder, sql } from 'kysely'
import type { PgBoss } from 'pg-boss'
import { type Columns, findColumns } from '../../catalog/columns.ts'
import { readRowKeys } from '../../catalog/row-key.ts'
import type { Feed, FeedCounts, FeedRequest } from '../../contract/feed.ts'
import { type Answer, backgroundThreshold, type Schemas } from '../../contract/operation.ts'
import type { RowErrors } from '../../contract/row-errors.ts'
import { type StagedFaults, stagedFaults, stagedFaultsMax } from '../../contract/staged-faults.ts'
import { onlyRow } from '../../database/only-row.ts'
import type { Trx } from '../../database/pool.ts'
import { enqueueJob } from '../../jobs/enqueue.ts'
import { rejectBusy, whenListIsFree } from '../../jobs/list-order.ts'
import { addDraftRows } from '../../price-lists/draft-rows.ts'
import { publish } from '../../price-lists/publish.ts'
import { lockPriceList, type PriceList } from '../../price-lists/queries.ts'
import {
  faultMessages,
  fixedKeys,
  orUnknown,
  type ProductFault,
  productFaults,
} from '../add-products.ts'
import { keyColumns } from '../payload.ts'
import { answerPlanOrJob } from '../plans/enqueue-plan.ts'
import { planAddedProducts } from '../plans/plan-moves.ts'
import { computedColumns, extensionColumns, findFeedList, rowIds } from './staged-rows.ts'

/**
 * Adds products from a file to the list in the query. Above 100, a background job adds them, unless a job loads the
 * file.
 */
export const feedAddedProducts: Feed<'addProducts'> = async (
  trx,
  { account, query, origin, job },
  { boss },
) => {
  const list = await findFeedList(trx, account, query)
  const columns = await findColumns(trx, account)
  const isPlan = query.plan === 'true'
  return {
    ...productLines(list, columns),
    findFaults: async (once) => {
      if (isPlan || job !== undefined || (await isAtOnce(trx, once)))
        await whenListIsFree(() => rejectBusy(trx, account, list.id, job))
      return findUnaddable(trx, list, columns)
    },
    write: () => addStaged(trx, list, boss, { job, origin, isPlan }),
  }
}

const priceColumns = ['price_dimension', 'date', 'price', 'priced']

/** How a feed reads lines that name a list's products. */
export function productLines(list: PriceList, columns: Columns) {
  return {
    columns: extensionColumns(columns.extensions),
    // Exports of prices and of the catalog name products, too.
    ignored: [
      ...priceColumns,
      ...computedColumns(columns.extensions),
      ...[...columns.attributes, ...columns.costs].map(({ name }) => name),
      'active',
    ],
    input: keyColumns,
    ids: rowIds(list, columns),
    key: ['code', 'extension_key'],
    read: async (rows: readonly Schemas['AddProductsRow'][], errors: RowErrors) => {
      const keyed = await readRowKeys(rows, columns.extensions, fixedKeys, errors)
      return keyed.map((row) => ({ row, position: row.position }))
    },
  }
}

/** Whether the staged products are few enough to be moved without a job. */
export async function isAtOnce(trx: Trx, once: RawBuilder<unknown>): Promise<boolean> {
  const { rows } = await sql`select from ${once} f offset ${backgroundThreshold} limit 1`.execute(
    trx,
  )
  return rows.length === 0
}

/** Locks the list and returns the staged rows whose product cannot be added. */
async function findUnaddable(
  trx: Trx,
  { account_id, id }: PriceList,
  columns: Columns,
): Promise<StagedFaults> {
  const list = await lockPriceList(trx, account_id, { id })
  const { rows } = await sql<Unaddable>`
    select *, count(*) over () as total from (
      select f.position, f.line, ${orUnknown} as fault
      from pg_temp.feed f left join ${productFaults(list, columns)} using (code, extension_key)
    ) as candidates
    where fault is not null order by position limit ${stagedFaultsMax}`.execute(trx)
  return stagedFaults(rows, ({ fault }) => {
    return { field: 'code', code: fault, message: faultMessages[fault] }
  })
}

interface Unaddable {
  position: number
  line: number
  fault: ProductFault
  total: number
}

async function addStaged(
  trx: Trx,
  { account_id: account, id }: PriceList,
  boss: PgBoss,
  { job, origin, isPlan }: Pick<FeedRequest<'addProducts'>, 'job' | 'origin'> & { isPlan: boolean },
): Promise<FeedCounts | Answer<Schemas['JobInfo'] | Schemas['Plan']>> {
  const list = await lockPriceList(trx, account, { id })
  const {
    total,
    created,
    ids: productIds,
  } = await onlyRow<{ total: number; created: number; ids: string }>(trx)`
    select count(*) as total, count(*) filter (where p.row_id is null) as created,
      coalesce(array_agg(p.id order by f.position), '{}')::text as ids
    from pg_temp.feed f
    join (
      select p.id, p.code, p.extension_key, r.id as row_id
      from products p
      left join price_list_rows r on r.account_id = ${account} and r.price_list_id = ${id}
        and r.code = p.code and r.extension_key = p.extension_key and r.removed_version is null
      where p.account_id = ${account}
    ) as p on p.code = f.code and p.extension_key = f.extension_key`
  const isForJob = total > backgroundThreshold && job === undefined
  if (isPlan || !isForJob) await rejectBusy(trx, account, id, job)
  if (isPlan) {
    const plan = await planAddedProducts(trx, list, productIds, origin)
    return answerPlanOrJob(trx, list, { origin, job }, plan)
  }
  if (isForJob)
    return enqueueJob(trx, boss, {
      account,
      priceListId: id,
      kind: 'add-products',
      total,
      productIds,
      origin,
    })
  const counts = { created, updated: total - created, unchanged: total - created }
  if (total === 0) return { ...counts, revision: list.version }
  const rowIds = await addDraftRows(trx, list, productIds)
  const revision = await publish(trx, list, { kind: 'add_products', origin, job }, rowIds)
  return { ...counts, revision }
}
