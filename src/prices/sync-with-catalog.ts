import { findColumns } from '../catalog/columns.ts'
import {
  Answer,
  backgroundThreshold,
  cellsAtOnceMax,
  type Origin,
  type Schemas,
} from '../contract/operation.ts'
import { onlyRow } from '../database/only-row.ts'
import type { Trx } from '../database/pool.ts'
import { enqueueJob } from '../jobs/enqueue.ts'
import { onFreeList, rejectBusy } from '../jobs/list-order.ts'
import {
  countSynced,
  findSmallDifference,
  type SmallDifference,
  syncResult,
} from '../price-lists/catalog-difference.ts'
import { addDraftRows } from '../price-lists/draft-rows.ts'
import { revisionHeader } from '../price-lists/history/record-revision.ts'
import { archiveRemovedChunk, removeDraftRows } from '../price-lists/publication.ts'
import { publish } from '../price-lists/publish.ts'
import { lockPriceList, type PriceList, rejectUnmanaged } from '../price-lists/queries.ts'
import { enqueuePlan } from './plans/enqueue-plan.ts'
import { planSync } from './plans/plan-moves.ts'

/**
 * Makes a list match the catalog and its filters, and publishes it. Returns the ids of the rows; above 100 products,
 * the job.
 */
export const syncWithCatalog = onFreeList<'syncWithCatalog'>(
  async (trx, { account, body, query, origin, prefersJob }, { boss }) => {
    const list = await lockPriceList(trx, account, { name: body.price_list_name })
    rejectUnmanaged(list)
    const columns = await findColumns(trx, account)
    if (query.plan === 'true') {
      const total = await countSynced(trx, list, columns, cellsAtOnceMax + 1)
      if (prefersJob || total > cellsAtOnceMax)
        return enqueuePlan(trx, boss, list, {
          call: { operation: 'sync' },
          total,
          origin,
          prefersJob,
        })
      await rejectBusy(trx, account, list.id)
      return planSync(trx, list, columns, origin)
    }
    const difference = await findSmallDifference(trx, list, columns)
    const { handled: total } = difference
    if (total > backgroundThreshold) {
      const job = { account, priceListId: list.id, kind: 'sync-with-catalog', total } as const
      return enqueueJob(trx, boss, { ...job, origin })
    }
    await rejectBusy(trx, account, list.id)
    return syncAtOnce(trx, list, difference, origin)
  },
)

async function syncAtOnce(
  trx: Trx,
  list: PriceList,
  { added, removed }: SmallDifference,
  origin: Origin,
): Promise<Answer<Schemas['SyncResult']>> {
  const come = added ? await addDraftRows(trx, list, added) : '{}'
  if (removed) await removeDraftRows(trx, list, removed)
  const { result } = await onlyRow<{ result: Schemas['SyncResult'] }>(trx)`
    select ${syncResult(list)} as result`
  const revision = await publish(trx, list, { kind: 'sync', origin }, come)
  await archiveRemovedChunk(trx, list, list.version + 1)
  return new Answer(result, revisionHeader(revision))
}
