import { sql } from 'kysely'
import { findOperation } from '../contract/document.ts'
import type { FeedDone } from '../contract/feed.ts'
import { Answer, type Context, type Schemas } from '../contract/operation.ts'
import { onceInAccount } from '../database/tenant-transaction.ts'
import { type Attempt, type JobRow, lockCurrent } from '../jobs/attempt.ts'
import { readFile } from '../jobs/file-pieces.ts'
import { endDone, type Outcome, setFinished } from '../jobs/job-row.ts'
import { type RunJob, refusable } from '../jobs/run-job.ts'
import { runFeed } from './run-feed.ts'

interface Loading {
  context: Context
  /** Called for each loaded file, for metrics. */
  onLoaded?: ((loaded: { operation: string; rows: number }) => void) | undefined
}

/**
 * Returns a runner that loads a stored file as its request would have done, in one transaction. A refused file ends the
 * job as failed, with its errors. A new attempt starts over, because the earlier one wrote nothing.
 */
export function fileLoader(loading: Loading): RunJob {
  return (attempt, job) => {
    const progress = { rows: 0 }
    const load = refusable(
      () => loadFile(attempt, job, { ...loading, progress }),
      (trx) => setFinished(trx, job, progress.rows),
    )
    return load(attempt, job)
  }
}

/** The job is locked only at the end, so that until then it can be read, cancelled and taken over. */
async function loadFile(
  attempt: Attempt,
  job: JobRow,
  { context, onLoaded, progress }: Loading & { progress: { rows: number } },
): Promise<void> {
  const { account, db } = attempt
  const operation = findOperation(job.operation)
  await onceInAccount(db, account, async (trx) => {
    // Enough for the statement that writes the largest file.
    await sql`set local statement_timeout = '1h'`.execute(trx)
    const done = await runFeed(trx, {
      operation,
      account,
      context,
      progress,
      rejected: undefined,
      query: queryOf(job),
      mediaType: job.media_type ?? '',
      bytes: readFile(attempt, job, () => progress.rows),
      rejectGone: () => attempt.signal.throwIfAborted(),
      job: job.id,
      origin: job.origin,
    })
    await endDone(trx, await lockCurrent(trx, attempt), outcomeOf(done, progress.rows))
  })
  onLoaded?.({ operation: operation.id, rows: progress.rows })
}

/** A plan is reported by its id; a job starts no other job. */
function outcomeOf(
  done: FeedDone | Answer<Schemas['JobInfo'] | Schemas['Plan']>,
  rows: number,
): Outcome {
  if (done instanceof Answer) return { result: { plan_id: done.body.id }, rows }
  return { ...done, rows }
}

/** Names the list by id: another list may have its name by now. */
function queryOf({ query, price_list_id }: JobRow): object {
  const { price_list_name: _, ...others } = (query ?? {}) as { price_list_name?: string }
  return price_list_id === null ? ((query as object) ?? {}) : { ...others, price_list_id }
}
