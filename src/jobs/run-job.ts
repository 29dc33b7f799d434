import { performance } from 'node:perf_hooks'
import type { Schemas } from '../contract/operation.ts'
import { sqlStateOf } from '../database/loggable-error.ts'
import type { Trx } from '../database/pool.ts'
import { isPassing } from '../database/transient-errors.ts'
import type { AttemptDone, Tracing } from '../telemetry/telemetry.ts'
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
import { pauseAfter } from './pause.ts'
import { countFault } from './progress.ts'
import { findShortage } from './shortage.ts'

/** The job has ended as failed, by what it was given and no fault of the service. */
export class JobRefused extends Error {}

/** Does one kind of job, in chunks, to its end. Throws `JobRefused` where that is a failure. */
export type RunJob = (attempt: Attempt, job: JobRow) => Promise<void>

export interface RunOptions {
  runners: Record<JobKind, RunJob>
  /** The longest pause after a try that has met a shortage. */
  pauseMaxSeconds: number
  /** Undoes what a job has not published. */
  undo: (trx: Trx, job: CurrentJob) => Promise<void>
  /** `err` among the fields: something failed. */
  log: (fields: object, message: string) => void
  /** Where somebody counts or traces the tries. */
  watch?: {
    attempt?: ((done: AttemptDone) => void) | undefined
    inSpan?: Tracing['inSpan'] | undefined
  }
}

/** A job that fails this often, by what does not pass by itself, is given up. */
const faultsMax = 10

/** What the queue is told of a failure: it keeps the errors it gets, and errors quote values of rows. */
export class TurnFailed extends Error {
  /** 0: the turn is handed out again after the pause that is usual. */
  readonly pauseSeconds: number

  constructor(cause: unknown, pauseSeconds = 0) {
    const state = sqlStateOf(cause)
    super(`the log has the error${state ? `, SQLSTATE ${state}` : ''}`)
    this.pauseSeconds = pauseSeconds
  }
}

/** One try at a job, logged, counted and traced. Throws TurnFailed for the queue to hand the job out again. */
export async function runJob(attempt: Attempt, options: RunOptions): Promise<void> {
  const fields = { account: attempt.account, job: attempt.job, attempt: attempt.number }
  const row = await startAttempt(attempt).catch(ignoreLost)
  if (!row) return options.log(fields, 'job has ended or is left to another worker')
  const { kind, total } = row
  options.log({ ...fields, kind, total, finished: row.finished }, 'job begins')
  const start = performance.now()
  const { outcome, error } = await tryJob(attempt, row, options)
  const seconds = (performance.now() - start) / 1000
  options.watch?.attempt?.({ kind, outcome, seconds })
  const err = error === undefined ? {} : { err: error, sqlstate: sqlStateOf(error) }
  options.log({ ...fields, kind, total, ms: Math.round(seconds * 1000), ...err }, `job ${outcome}`)
  if (outcome !== 'retried') return
  const pauseSeconds = findShortage(error) ? pauseAfter(attempt.number, options.pauseMaxSeconds) : 0
  throw new TurnFailed(error, pauseSeconds)
}

interface Ending {
  outcome: AttemptDone['outcome']
  error?: unknown
}

async function tryJob(attempt: Attempt, row: JobRow, options: RunOptions): Promise<Ending> {
  try {
    await inSpan(attempt, row, options)
    return { outcome: 'done' }
  } catch (error) {
    if (error instanceof AttemptLost) return { outcome: 'lost' }
    if (error instanceof JobRefused) return { outcome: 'refused' }
    const isFault = !attempt.signal.aborted && isFaultOfJob(error)
    return isFault ? endOrRetry(error, attempt, options) : { outcome: 'retried', error }
  }
}

/** What passes by itself is none, unless the job itself may be what the database has too little for. */
function isFaultOfJob(error: unknown): boolean {
  return !isPassing(error) || findShortage(error) !== undefined
}

function inSpan(attempt: Attempt, row: JobRow, { runners, watch }: RunOptions): Promise<void> {
  const run = () => runners[row.kind as JobKind](attempt, row)
  const attributes = {
    'pricewell.account': attempt.account,
    'pricewell.job': attempt.job,
    'pricewell.attempt': attempt.number,
  }
  return watch?.inSpan ? watch.inSpan(`job ${row.kind}`, attributes, run) : run()
}

/** Counts a fault; at the tenth the job ends as failed, its draft changes undone. */
async function endOrRetry(error: unknown, attempt: Attempt, { undo }: RunOptions): Promise<Ending> {
  const end = inAttempt(attempt, async (trx, job) => {
    if ((await countFault(trx, job)) < faultsMax) return false
    await undo(trx, job)
    await endUndone(trx, job, 'failed', [givenUp(error)])
    return true
  })
  return end.then(
    (isGivenUp) => ({ outcome: isGivenUp ? 'failed' : 'retried', error }),
    (second) =>
      second instanceof AttemptLost ? { outcome: 'lost' } : { outcome: 'retried', error: second },
  )
}

function givenUp(error: unknown): Schemas['JobError'] {
  const shortage = findShortage(error)
  const message = shortage
    ? `The job could not be done: ${shortage}. Nothing was published.`
    : 'The job could not be done; nothing was published.'
  return { code: 'internal-error', message }
}

function ignoreLost(error: unknown): undefined {
  if (!(error instanceof AttemptLost)) throw error
}
