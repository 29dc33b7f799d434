import { sql } from 'kysely'
import { findColumns } from '../catalog/columns.ts'
import { type Attempt, inAttempt } from '../jobs/attempt.ts'
import { endDone, setFinished } from '../jobs/job-row.ts'
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
 * Makes the list match the catalog and the filters as they are when the job runs. The draft changes in chunks, then one
 * short transaction publishes it. A retried attempt continues with the draft of the earlier one; rows count as added or
 * removed by comparison with the published version.
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

/** Finds the changes. The catalog may have changed since the job was accepted, and the total with it. */
function startSync(attempt: Attempt): Promise<{ changes: Change[]; total: number }> {
  return inAttempt(attempt, async (trx, job) => {
    const list = await lockListOf(trx, job)
    const columns = await findColumns(trx, attempt.account)
    const { changes, handled } = await findDifference(trx, list, columns)
    const { total } = await trx
      .updateTable('jobs')
      // `finished` includes an earlier attempt's work and never falls, even if the catalog has shrunk.
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

/** Stores the result before the publication, which stays short; readers of the job see it when the job is done. */
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
