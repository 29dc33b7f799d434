import { type Attempt, inAttempt, setFinished } from '../jobs/attempt.ts'
import type { RunJob } from '../jobs/work.ts'
import { addDraftRows, findRowIds, publish, resetDraft } from './publication.ts'
import { lockPriceList } from './queries.ts'

/** Half a second of work: progress is seen at least every second, and other writers of the list get their turn. */
const chunkRows = 10_000

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
      .set({
        status: 'done',
        finished_at: new Date(),
        result: JSON.stringify(ids),
        product_ids: null,
      })
      .where('account_id', '=', attempt.account)
      .where('id', '=', attempt.job)
      .execute()
  })
}

/** Takes the draft of the job's list back to what is published. */
export async function undoDraft(attempt: Attempt, job: { price_list_id: number }): Promise<void> {
  await inAttempt(attempt, async (trx) => {
    await resetDraft(trx, await lockPriceList(trx, attempt.account, { id: job.price_list_id }))
  })
}
