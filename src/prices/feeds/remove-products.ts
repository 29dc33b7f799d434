import { sql } from 'kysely'
import type { PgBoss } from 'pg-boss'
import { findColumns } from '../../catalog/columns.ts'
import type { Feed, FeedCounts, FeedRequest } from '../../contract/feed.ts'
import { type Answer, backgroundThreshold, type Schemas } from '../../contract/operation.ts'
import { readNumbers } from '../../database/array-literal.ts'
import type { Trx } from '../../database/pool.ts'
import { enqueueJob } from '../../jobs/enqueue.ts'
import { rejectBusy, whenListIsFree } from '../../jobs/list-order.ts'
import { lockPriceList, type PriceList } from '../../price-lists/queries.ts'
import { answerPlanOrJob } from '../plans/enqueue-plan.ts'
import { planRemovedProducts } from '../plans/plan-moves.ts'
import { findNamedProducts, removeAtOnce } from '../remove-products.ts'
import { isAtOnce, productLines } from './add-products.ts'
import { findFeedList, findPublishedFeedList } from './staged-rows.ts'

/**
 * Removes the products that a file names from the list in the query. Above 100, a background job removes them, unless a
 * job loads the file.
 */
export const feedRemovedProducts: Feed<'removeProducts'> = async (
  trx,
  { account, query, origin, job },
  { boss },
) => {
  const named = await findFeedList(trx, account, query)
  const list = named.version > 0 ? named : await findPublishedFeedList(trx, account, query, job)
  const columns = await findColumns(trx, account)
  const isPlan = query.plan === 'true'
  return {
    ...productLines(list, columns),
    findFaults: async (once) => {
      if (isPlan || job !== undefined || (await isAtOnce(trx, once)))
        await whenListIsFree(() => rejectBusy(trx, account, list.id, job))
      return { first: [], count: 0 }
    },
    write: () => removeStaged(trx, list, boss, { job, origin, isPlan }),
  }
}

async function removeStaged(
  trx: Trx,
  { account_id: account, id }: PriceList,
  boss: PgBoss,
  {
    job,
    origin,
    isPlan,
  }: Pick<FeedRequest<'removeProducts'>, 'job' | 'origin'> & { isPlan: boolean },
): Promise<FeedCounts | Answer<Schemas['JobInfo'] | Schemas['Plan']>> {
  const list = await lockPriceList(trx, account, { id })
  const staged = sql`pg_temp.feed as input`
  const { total, productIds } = await findNamedProducts(trx, account, staged)
  const isForJob = total > backgroundThreshold && job === undefined
  if (isPlan || !isForJob) await rejectBusy(trx, account, id, job)
  if (isPlan) {
    const plan = await planRemovedProducts(trx, list, staged, origin)
    return answerPlanOrJob(trx, list, { origin, job }, plan)
  }
  if (isForJob) {
    const removal = { account, priceListId: id, kind: 'remove-products' } as const
    return enqueueJob(trx, boss, { ...removal, total, productIds, origin })
  }
  const publication = { kind: 'remove_products', origin, job } as const
  const { rowIds, revision } = await removeAtOnce(trx, list, productIds, publication)
  return { created: 0, updated: 0, removed: readNumbers(rowIds).length, revision }
}
