import { Answer, type Handler } from '../../contract/operation.ts'
import { enqueueJob } from '../../jobs/enqueue.ts'
import { rejectBusy, whenListIsFree } from '../../jobs/list-order.ts'
import { lockPriceList, rejectUnmanaged, rejectUnpublished } from '../../price-lists/queries.ts'
import { findNamedList } from '../payload.ts'
import { countCells, planReprice } from './plan-reprice.ts'
import { readCall } from './reprice-call.ts'

/** More are planned by a job. */
const cellsMax = 100_000

/** Plans new prices by a formula. Answers the plan; above 100,000 cells, or if the client prefers it, the job. */
export const reprice: Handler<'reprice'> = (
  { account, body, origin, prefersJob, inAccount },
  { boss },
) =>
  whenListIsFree(() =>
    inAccount(async (trx) => {
      const list = await findNamedList(body, (by) => lockPriceList(trx, account, by))
      rejectUnmanaged(list)
      rejectUnpublished(list)
      const call = await readCall(trx, list, body)
      const total = await countCells(trx, list, call)
      if (!prefersJob && total <= cellsMax) {
        await rejectBusy(trx, account, list.id)
        return planReprice(trx, list, call, origin)
      }
      const job = { account, priceListId: list.id, kind: 'make-plan', total, origin } as const
      const planned = { operation: 'reprice', ...body }
      const answer = await enqueueJob(trx, boss, { ...job, call: planned })
      const applied = prefersJob && { 'preference-applied': 'respond-async' }
      return new Answer(answer.body, { ...answer.headers, ...applied })
    }),
  )
