import type { Trx } from '../database/pool.ts'
import type { CurrentJob } from '../jobs/attempt.ts'
import { resetDraft } from './publication.ts'
import { lockListOf } from './queries.ts'

/** Takes the draft of the job's list, if it has one, back to what is published. */
export async function undoDraft(trx: Trx, job: CurrentJob): Promise<void> {
  if (job.price_list_id === null) return
  await resetDraft(trx, await lockListOf(trx, job))
}
