import type { Trx } from '../database/pool.ts'
import type { CurrentJob } from '../jobs/attempt.ts'
import { resetDraft } from './publication.ts'
import { lockPriceList } from './queries.ts'

/** Takes the draft of the job's list back to what is published. */
export async function undoDraft(trx: Trx, job: CurrentJob): Promise<void> {
  await resetDraft(trx, await lockPriceList(trx, job.account_id, { id: job.price_list_id }))
}
