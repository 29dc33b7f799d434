import { sql } from 'kysely'
import { findColumns } from '../catalog/columns.ts'
import { backgroundThreshold, type Handler, type Schemas } from '../contract/operation.ts'
import type { Trx } from '../database/pool.ts'
import { enqueueJob } from '../jobs/enqueue.ts'
import { rejectBusy, whenListIsFree } from '../jobs/list-order.ts'
import {
  applyChange,
  type Change,
  countHandled,
  findDifference,
  syncResult,
} from '../price-lists/catalog-difference.ts'
import { deleteRemovedRows, publish } from '../price-lists/publication.ts'
import { lockPriceList, type PriceList, rejectUnmanaged } from '../price-lists/queries.ts'

/**
 * Makes a list match the catalog and its filters, and publishes it. Answers the ids of the rows; above 100 products,
 * the job.
 */
export const syncWithCatalog: Handler<'syncWithCatalog'> = (
  { account, body, inAccount },
  { boss },
) =>
  whenListIsFree(() =>
    inAccount(async (trx) => {
      const list = await lockPriceList(trx, account, { name: body.price_list_name })
      rejectUnmanaged(list)
      const columns = await findColumns(trx, account)
      const inBackground = (total: number) =>
        enqueueJob(trx, boss, { account, priceListId: list.id, kind: 'sync-with-catalog', total })
      const counted = await countHandled(trx, list, columns)
      if (counted > backgroundThreshold) return inBackground(counted)
      await rejectBusy(trx, account, list.id)
      const { changes, handled } = await findDifference(trx, list, columns)
      // Products may have been loaded since they were counted.
      return handled > backgroundThreshold ? inBackground(handled) : syncAtOnce(trx, list, changes)
    }),
  )

async function syncAtOnce(
  trx: Trx,
  list: PriceList,
  changes: Change[],
): Promise<Schemas['SyncResult']> {
  for (const change of changes) await applyChange(trx, list, change)
  const { rows } = await sql<{ result: Schemas['SyncResult'] }>`
    select ${syncResult(list)} as result`.execute(trx)
  await publish(trx, list)
  await deleteRemovedRows(trx, list, list.version + 1)
  return rows[0]?.result ?? { added: [], removed: [], untouched: [] }
}
