import { cellsAtOnceMax } from '../../contract/operation.ts'
import { Problem } from '../../contract/problem.ts'
import { isTimeout } from '../../database/errors.ts'
import { onFreeList, rejectBusy } from '../../jobs/list-order.ts'
import { lockPriceList, rejectUnmanaged, rejectUnpublished } from '../../price-lists/queries.ts'
import { findNamedList } from '../payload.ts'
import { enqueuePlan } from '../plans/enqueue-plan.ts'
import { countCells, planReprice } from './plan-reprice.ts'
import { readCall } from './reprice-call.ts'

/** Plans new prices by a formula. Returns the plan; above 100,000 cells, or if the client prefers it, the job. */
export const reprice = onFreeList<'reprice'>(
  async (trx, { account, body, origin, prefersJob }, { boss }) => {
    const list = await findNamedList(body, (by) => lockPriceList(trx, account, by))
    rejectUnmanaged(list)
    rejectUnpublished(list)
    const call = await readCall(trx, list, body)
    const total = await countCells(trx, list, call)
    if (prefersJob || total > cellsAtOnceMax) {
      const planned = { operation: 'reprice', ...body } as const
      return enqueuePlan(trx, boss, list, { call: planned, total, origin, prefersJob })
    }
    await rejectBusy(trx, account, list.id)
    return planReprice(trx, list, call, origin).catch((error) => {
      throw isTimeout(error) ? slowFormula(error) : error
    })
  },
)

function slowFormula(cause: unknown): Problem {
  const detail =
    'The formula takes too long for so many cells. Send the call with `Prefer: respond-async`: a job has the time.'
  return new Problem('too-costly', detail, { cause })
}
