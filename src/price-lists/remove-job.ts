import { sql } from 'kysely'
import type { Trx } from '../database/pool.ts'
import { type Attempt, inAttempt, type JobRow, type RunningJob } from '../jobs/attempt.ts'
import { endDone, findProductIds, setFinished } from '../jobs/job-row.ts'
import { type RunJob, refusable } from '../jobs/run-job.ts'
import { removeProductsFromDraft } from './draft-rows.ts'
import { chunkRows, undoDraft } from './publication.ts'
import { publish } from './publish.ts'
import { lockListOf, ofList, type PriceList } from './queries.ts'

/**
 * Removes the job's products from the draft in chunks, recording progress after each. The last chunk publishes the
 * list.
 */
export async function removeInChunks(
  attempt: Attempt,
  { finished, total }: JobRow,
  rows = chunkRows,
): Promise<void> {
  for (let from = finished; from < total; from += rows) {
    const until = Math.min(from + rows, total)
    await inAttempt(attempt, async (trx, job) => {
      const list = await lockListOf(trx, job)
      await removeProductsFromDraft(trx, list, await findProductIds(trx, job, { from, until }))
      await setFinished(trx, job, until)
      if (until < total) return
      await noteRemovedRows(trx, list, job)
      const publication = { kind: 'remove_products', origin: job.origin, job: job.id } as const
      const revision = await publish(trx, list, publication, '{}')
      await endDone(trx, job, { revision })
    })
  }
}

/** Stores the ids of the removed rows as the job's result, in product order. */
async function noteRemovedRows(
  trx: Trx,
  list: PriceList,
  { account_id, id }: RunningJob,
): Promise<void> {
  await sql`
    update jobs set row_ids = array(
      select r.id from unnest(product_ids) with ordinality as input (product_id, position)
      join price_list_rows r on ${ofList(list)} and r.product_id = input.product_id
        and r.removed_version > ${list.version}
      order by input.position
    ) where account_id = ${account_id} and id = ${id}`.execute(trx)
}

/** A removal that a guardrail refuses leaves no draft. */
export const runRemoveProducts: RunJob = refusable(removeInChunks, undoDraft)
