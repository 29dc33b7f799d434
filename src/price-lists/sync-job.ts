import { sql } from 'kysely'
import { findColumns } from '../catalog/columns.ts'
import { type Attempt, inAttempt } from '../jobs/attempt.ts'
import { endDone } from '../jobs/end-job.ts'
import { setFinished } from '../jobs/progress.ts'
import type { RunJob } from '../jobs/run-job.ts'
import {
  applyChange,
  type Change,
  findDifference,
  sumCounts,
  syncResult,
} from './catalog-difference.ts'
import { publish } from './publication.ts'
import { findPriceList, listIdOf, lockListOf } from './queries.ts'

/**
 * Makes the list what the catalog and the list's filters say, as they are when the job runs. The draft changes in
 * chunks, then one short transaction publishes it. An attempt that takes over finds the draft of the earlier one and
 * does what is left; what counts as added or removed is told by the published version alone.
 */
export const runSync: RunJob = async (attempt) => {
  const { changes, total } = await startSync(attempt)
  let left = sumCounts(changes)
  for (const change of changes) {
    left -= change.count
    await changeDraft(attempt, change, total - left)
  }
  await noteResult(attempt)
  await publishSync(attempt)
}

/** Finds what there is to do. The catalog may have changed since the job was accepted, and so may the total. */
function startSync(attempt: Attempt): Promise<{ changes: Change[]; total: number }> {
  return inAttempt(attempt, async (trx, job) => {
    const list = await lockListOf(trx, job)
    const columns = await findColumns(trx, attempt.account)
    const { changes, handled } = await findDifference(trx, list, columns)
    const { total } = await trx
      .updateTable('jobs')
      // `finished` counts what an earlier attempt did; it never falls, even if the catalog has shrunk since.
      .set({
        total: sql`greatest(finished, ${handled}::integer)`,
        finished: sql`greatest(finished, ${handled - sumCounts(changes)}::integer)`,
      })
      .where('account_id', '=', attempt.account)
      .where('id', '=', job.id)
      .returning('total')
      .executeTakeFirstOrThrow()
    return { changes, total }
  })
}

function changeDraft(attempt: Attempt, change: Change, finished: number): Promise<void> {
  return inAttempt(attempt, async (trx, job) => {
    const list = await lockListOf(trx, job)
    await applyChange(trx, list, change)
    await setFinished(trx, job, finished)
  })
}

/** Ahead of the publication, which stays short; readers of the job see the result when it is done. */
function noteResult(attempt: Attempt): Promise<void> {
  return inAttempt(attempt, async (trx, job) => {
    const list = await findPriceList(trx, attempt.account, { id: listIdOf(job) })
    await trx
      .updateTable('jobs')
      .set({ result: syncResult(list) })
      .where('account_id', '=', attempt.account)
      .where('id', '=', job.id)
      .execute()
  })
}

function publishSync(attempt: Attempt): Promise<void> {
  return inAttempt(attempt, async (trx, job) => {
    const list = await lockListOf(trx, job)
    await publish(trx, list)
    await endDone(trx, job)
  })
}
