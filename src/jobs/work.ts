import type { JobWithMetadata, PgBoss } from 'pg-boss'
import { inAccount } from '../database/in-account.ts'
import type { Database } from '../database/pool.ts'
import { type Attempt, AttemptLost, type JobRow, startAttempt } from './attempt.ts'
import type { JobKind } from './enqueue.ts'
import { listQueue, type QueuedJob } from './queue.ts'

/** Does one kind of job, in chunks, to its end. */
export type RunJob = (attempt: Attempt, job: JobRow) => Promise<void>

export interface WorkOptions {
  db: Database
  boss: PgBoss
  runners: Record<JobKind, RunJob>
  /** Undoes what a job has not published. */
  undo: (attempt: Attempt, job: JobRow) => Promise<void>
  signal: AbortSignal
  log: (fields: object, message: string) => void
}

const jobsAtOnce = 2
/** A fault that comes back this often is the job's own. */
const attemptsMax = 10
/** Jobs start by NOTIFY; what waits behind another job of its list is looked for when that is done. */
const pollingIntervalSeconds = 0.5

/** Takes jobs from the queue until the boss stops. */
export async function startWorkers(options: WorkOptions): Promise<void> {
  for (let worker = 0; worker < jobsAtOnce; worker++) await startWorker(options)
}

async function startWorker({ boss, ...options }: WorkOptions): Promise<void> {
  const workOptions = {
    includeMetadata: true,
    pollingIntervalSeconds,
    notifyPollingIntervalSeconds: pollingIntervalSeconds,
  } as const
  let id = ''
  const work = async ([queued]: JobWithMetadata<QueuedJob>[]) => {
    if (queued) await runJob(queued, { boss, ...options })
    boss.notifyWorker(id)
  }
  id = await boss.work(listQueue, workOptions, work)
}

async function runJob(queued: JobWithMetadata<QueuedJob>, options: WorkOptions): Promise<void> {
  const { account, job } = queued.data
  const attempt: Attempt = {
    db: options.db,
    account,
    job,
    number: queued.retryCount,
    signal: options.signal,
  }
  try {
    const row = await startAttempt(attempt)
    await options.runners[row.kind as JobKind](attempt, row).catch((error) =>
      endOrRetry(error, attempt, row, options),
    )
    options.log({ account, job, attempt: attempt.number }, 'job done')
  } catch (error) {
    if (!(error instanceof AttemptLost)) throw error
    options.log({ account, job, attempt: attempt.number }, 'job left to another worker')
  }
}

/** Hands the job back to the queue; after ten attempts ends it as failed, its draft changes undone. */
async function endOrRetry(
  error: unknown,
  attempt: Attempt,
  row: JobRow,
  options: WorkOptions,
): Promise<void> {
  if (error instanceof AttemptLost || attempt.signal.aborted || attempt.number + 1 < attemptsMax)
    throw error
  options.log({ err: error, account: attempt.account, job: attempt.job }, 'job failed')
  await options.undo(attempt, row)
  await inAccount(attempt.db, attempt.account, (trx) =>
    trx
      .updateTable('jobs')
      .set({
        status: 'failed',
        finished_at: new Date(),
        errors: JSON.stringify([
          { code: 'internal-error', message: 'The job could not be done; nothing was published.' },
        ]),
      })
      .where('account_id', '=', attempt.account)
      .where('id', '=', attempt.job)
      .execute(),
  )
}
