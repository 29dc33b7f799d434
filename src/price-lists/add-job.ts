import { type Attempt, inAttempt, type JobRow } from '../jobs/attempt.ts'
import { endDone, findProductIds, setRowIds } from '../jobs/job-row.ts'
import { addDraftRows } from './draft-rows.ts'
import { chunkRows } from './publication.ts'
import { publish } from './publish.ts'
import { lockListOf } from './queries.ts'

/** Adds the job's products to the draft in chunks, recording progress after each. The last chunk publishes the list. */
export async function runAddProducts(
  attempt: Attempt,
  { finished, total }: JobRow,
  rows = chunkRows,
): Promise<void> {
  for (let from = finished; from < total; from += rows) {
    const until = Math.min(from + rows, total)
    await inAttempt(attempt, async (trx, job) => {
      const list = await lockListOf(trx, job)
      const rowIds = await addDraftRows(trx, list, await findProductIds(trx, job, { from, until }))
      await setRowIds(trx, job, { from, rowIds, finished: until })
      if (until < total) return
      const publication = { kind: 'add_products', origin: job.origin, job: job.id } as const
      const revision = await publish(trx, list, publication)
      await endDone(trx, job, { revision })
    })
  }
}
