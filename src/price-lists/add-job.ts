import { type Attempt, inAttempt, setFinished } from '../jobs/attempt.ts'
import { endDone } from '../jobs/end-job.ts'
import type { RunJob } from '../jobs/run-job.ts'
import { addDraftRows, chunkRows, findRowIds, publish } from './publication.ts'
import { lockPriceList } from './queries.ts'

/** Adds the job's products to the draft in chunks, each with its progress, then publishes the list with the result. */
export const runAddProducts: RunJob = async (attempt, job) => {
  const productIds = job.product_ids ?? []
  for (let from = job.finished; from < productIds.length; from += chunkRows) {
    const chunk = productIds.slice(from, from + chunkRows)
    await inAttempt(attempt, async (trx, current) => {
      const list = await lockPriceList(trx, attempt.account, { id: current.price_list_id })
      await addDraftRows(trx, list, chunk)
      await setFinished(trx, current, from + chunk.length)
    })
  }
  await publishResult(attempt, productIds)
}

/** The last transaction of the job: the rows become visible, and the job is done with their ids. */
function publishResult(attempt: Attempt, productIds: number[]): Promise<void> {
  return inAttempt(attempt, async (trx, current) => {
    const list = await lockPriceList(trx, attempt.account, { id: current.price_list_id })
    const ids = await findRowIds(trx, list, productIds)
    await publish(trx, list)
    await trx
      .updateTable('jobs')
      .set({ result: JSON.stringify(ids) })
      .where('account_id', '=', attempt.account)
      .where('id', '=', attempt.job)
      .execute()
    await endDone(trx, current)
  })
}
