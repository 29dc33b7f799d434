import { sql } from 'kysely'
import type { Column, Columns } from '../../catalog/columns.ts'
import { isOtherKey, keyParts, productId, stagedKey } from '../../catalog/product-feed.ts'
import type { FeedColumn, FeedId } from '../../contract/feed.ts'
import { sentences } from '../../contract/row-errors.ts'
import { type StagedFaults, stagedFaults, stagedFaultsMax } from '../../contract/staged-faults.ts'
import type { Trx } from '../../database/pool.ts'
import { rejectBusy, whenListIsFree } from '../../jobs/list-order.ts'
import { positionColumns } from '../../price-lists/position-fields.ts'
import {
  findPriceList,
  type ListName,
  lockPriceList,
  type PriceList,
  rejectUnmanaged,
  rejectUnpublished,
} from '../../price-lists/queries.ts'
import { findNamedList, type ListKeys, type PlaceOf } from '../payload.ts'
import { publishedRowsOf } from '../write/write-cells.ts'

/** The columns of exported rows that a load skips, except those that are extensions. */
export function computedColumns(extensions: Column[]): string[] {
  const ofPosition = positionColumns({ active: true, competition: true, sales: true })
  return ['margin', 'competition', 'sales', ...ofPosition].filter((key) =>
    extensions.every(({ name }) => name !== key),
  )
}

/**
 * The exported ids of rows and products, checked against the key of the row. The id of another list's row is ignored.
 */
export function rowIds(
  { account_id, id }: PriceList,
  columns: Pick<Columns, 'extensions'>,
): FeedId[] {
  const pk: FeedId = {
    name: 'pk',
    type: 'bigint',
    parts: keyParts(columns.extensions),
    changed: sql`
      select r.code || r.extensions as was, ${stagedKey} as says from price_list_rows r
      where r.account_id = ${account_id} and r.price_list_id = ${id} and r.id = f.given_pk and ${isOtherKey}
        and (r.removed_version is null or r.removed_version >
          (select version from price_lists where account_id = ${account_id} and id = ${id}))`,
  }
  return [pk, productId(account_id, columns)]
}

const placeInQuery: PlaceOf = (name) => ({ pointer: `/query/${name}` })

/** Finds the list that a file's query names. It is not locked while the file arrives. */
export async function findFeedList(trx: Trx, account: number, query: ListKeys): Promise<PriceList> {
  const find = (by: ListName) => findPriceList(trx, account, by)
  const list = await findNamedList(query, find, placeInQuery)
  rejectUnmanaged(list)
  return list
}

/**
 * `findFeedList` for a published list. Waits for the list's jobs that were accepted before `job`: they may publish it.
 * Throws `unavailable` before the file is read if they take too long.
 */
export async function findPublishedFeedList(
  trx: Trx,
  account: number,
  query: ListKeys,
  job: number | undefined,
): Promise<PriceList> {
  const list = await findFeedList(trx, account, query)
  await whenListIsFree(() => rejectBusy(trx, account, list.id, job))
  // Read again: the jobs may have published it.
  const ready = await findPriceList(trx, account, { id: list.id })
  rejectUnpublished(ready)
  return ready
}

/** Extensions as required columns of a file. */
export function extensionColumns(extensions: readonly Column[]): FeedColumn[] {
  return extensions.map(({ name, type }) => ({ name, type, isRequired: true }))
}

/**
 * Locks the list once all rows are staged, and returns those that are not in it. `job` loads the file; undefined if a
 * request does. Throws `unavailable` while earlier jobs of the list run.
 */
export async function findMissingRows(
  trx: Trx,
  list: PriceList,
  job: number | undefined,
): Promise<StagedFaults> {
  await whenListIsFree(() => rejectBusy(trx, list.account_id, list.id, job))
  await lockPriceList(trx, list.account_id, { id: list.id })
  await rejectBusy(trx, list.account_id, list.id, job)
  // An anti join takes 2 seconds for a million rows. `not in` compares each row with all others once they exceed
  // work_mem, and takes more than 20.
  const { rows } = await sql<{ position: number; line: number; total: number }>`
    select f.position, f.line, count(*) over () as total
    from pg_temp.feed f
    left join ${publishedRowsOf(list)} using (code, extension_key)
    where r.code is null order by f.position limit ${stagedFaultsMax}`.execute(trx)
  const message = sentences.rowNotInList
  return stagedFaults(rows, () => ({ field: 'code', code: 'row_not_in_list', message }))
}
