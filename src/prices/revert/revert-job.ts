import { sql } from 'kysely'
import type { Schemas } from '../../contract/operation.ts'
import { Problem, problemTypes } from '../../contract/problem.ts'
import { type Attempt, inAttempt, type JobRow } from '../../jobs/attempt.ts'
import { endDone, endUndone } from '../../jobs/job-row.ts'
import { JobRefused } from '../../jobs/run-job.ts'
import { lockListOf } from '../../price-lists/queries.ts'
import { prepare, readRevisions, revert } from './revert-price-list.ts'

/** Undoes changes of a list in one transaction, as `revertPriceList` does for fewer. Throws JobRefused. */
export async function runRevert(attempt: Attempt, { query }: JobRow): Promise<void> {
  const call = query as unknown as Schemas['RevertInput']
  try {
    await inAttempt(attempt, async (trx, job) => {
      // For the statement that writes the largest list.
      await sql`set local statement_timeout = '1h'`.execute(trx)
      const list = await lockListOf(trx, job)
      const revisions = await readRevisions(trx, list, call)
      await prepare(trx, list, revisions, call)
      const result = await revert(trx, list, revisions, {
        ...call,
        origin: job.origin,
        job: job.id,
      })
      await trx
        .updateTable('jobs')
        .set({ result: JSON.stringify(result) })
        .where('account_id', '=', job.account_id)
        .where('id', '=', job.id)
        .execute()
      await endDone(trx, job, result.revision)
    })
  } catch (error) {
    if (!(error instanceof Problem) || problemTypes[error.type].status >= 500) throw error
    await endRefused(attempt, error)
    throw new JobRefused()
  }
}

function endRefused(attempt: Attempt, { type, message, options }: Problem): Promise<void> {
  const errors = [{ code: type, message }, ...(options.errors ?? [])]
  return inAttempt(attempt, (trx, job) => endUndone(trx, job, 'failed', errors, options.errorCount))
}
