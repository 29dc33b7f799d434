import { sql } from 'kysely'
import type { Schemas } from '../../contract/operation.ts'
import { inAttempt } from '../../jobs/attempt.ts'
import { endWithResult } from '../../jobs/job-row.ts'
import { refusable } from '../../jobs/run-job.ts'
import { lockListOf } from '../../price-lists/queries.ts'
import { prepare, readRevisions, revert } from './revert-price-list.ts'

/** Undoes changes of a list in one transaction, as `revertPriceList` does for fewer. */
export const runRevert = refusable((attempt, { query }) =>
  inAttempt(attempt, async (trx, job) => {
    const call = query as unknown as Schemas['RevertInput']
    // For the statement that writes the largest list.
    await sql`set local statement_timeout = '1h'`.execute(trx)
    const list = await lockListOf(trx, job)
    const revisions = await readRevisions(trx, list, call)
    await prepare(trx, list, revisions, call)
    const result = await revert(trx, list, revisions, { ...call, origin: job.origin, job: job.id })
    await endWithResult(trx, job, result, result.revision)
  }),
)
