import type { JobWithMetadata, PgBoss } from 'pg-boss'
import { inAccount } from '../database/in-account.ts'
import type { Database, Trx } from '../database/pool.ts'
import {
  type Attempt,
  AttemptLost,
  type CurrentJob,
  inAttempt,
  type JobRow,
  startAttempt,
} from './attempt.ts'
import { endUndone } from './end-job.ts'
import type { JobKind } from './enqueue.ts'
import { type ListTurn, listQueue } from './queue.ts'
import { findOldestJob } from './turn.ts'

/** Does one kind of job, in chunks, to its end. */
export type RunJob = (attempt: Attempt, job: JobRow) => Promise<void>

export interface WorkOptions {
  db: Database
  boss: PgBoss
  runners: Record<JobKind, RunJob>
  /** Undoes what a job has not published. */
  undo: (trx: Trx, job: CurrentJob) => Promise<void>
  signal: AbortSignal
  log: (fields: object, message: string) => void
}

const jobsAtOnce = 2
/** A fault that comes back this often is the job's own. */
const attemptsMax = 10
/** Jobs start by NOTIFY; what waits behind another job of its list is looked for when that is done. */
const pollingIntervalSeconds = 0.5

const internalError = {
  code: 'internal-error',
  message: 'The job could not be done; nothing was published.',
}

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
  const work = async ([turn]: JobWithMetadata<ListTurn>[]) => {
    if (turn) await takeTurn(turn, { boss, ...options })
    boss.notifyWorker(id)
  }
  id = await boss.work(listQueue, workOptions, work)
}

/** One job of the list, if there is one left: a job that was cancelled leaves its turn unused. */
async function takeTurn(
  { data, retryCount }: JobWithMetadata<ListTurn>,
  options: WorkOptions,
): Promise<void> {
  const { account, priceListId } = data
  const job = await inAccount(options.db, account, (trx) =>
    findOldestJob(trx, account, priceListId),
  )
  if (job !== undefined)
    await runJob(
      { db: options.db, account, job, number: retryCount, signal: options.signal },
      options,
    )
}

async function runJob(attempt: Attempt, options: WorkOptions): Promise<void> {
  const fields = { account: attempt.account, job: attempt.job, attempt: attempt.number }
  try {
    const row = await startAttempt(attempt)
    await options.runners[row.kind as JobKind](attempt, row).catch((error) =>
      endOrRetry(error, attempt, options),
    )
    options.log(fields, 'job done')
  } catch (error) {
    if (!(error instanceof AttemptLost)) throw error
    options.log(fields, 'job has ended or is left to another worker')
  }
}

/** Hands the job back to the queue; after ten attempts ends it as failed, its draft changes undone. */
async function endOrRetry(error: unknown, attempt: Attempt, options: WorkOptions): Promise<void> {
  if (error instanceof AttemptLost || attempt.signal.aborted || attempt.number + 1 < attemptsMax)
    throw error
  options.log({ err: error, account: attempt.account, job: attempt.job }, 'job failed')
  await inAttempt(attempt, async (trx, job) => {
    await options.undo(trx, job)
    await endUndone(trx, job, 'failed', [internalError])
  })
}
