import type { Schemas } from '../../contract/operation.ts'
import { inOneTransaction, lockCurrent } from '../../jobs/attempt.ts'
import { endWithResult } from '../../jobs/job-row.ts'
import { refusable } from '../../jobs/run-job.ts'
import { lockListOf } from '../../price-lists/queries.ts'
import { prepare, readRevisions, revert } from './revert-price-list.ts'

/** Reverts a list in one transaction, as `revertPriceList` does for fewer changes. */
export const runRevert = refusable((attempt, job) =>
  inOneTransaction(attempt, async (trx) => {
    const call = job.query as unknown as Schemas['RevertInput']
    const list = await lockListOf(trx, job)
    const revisions = await readRevisions(trx, list, call)
    const { conflicts } = await prepare(trx, list, revisions, call)
    const { origin, id } = job
    const result = await revert(trx, list, revisions, { ...call, conflicts, origin, job: id })
    await endWithResult(trx, await lockCurrent(trx, attempt), result, result.revision)
  }),
)
