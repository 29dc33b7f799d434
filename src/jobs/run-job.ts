import { performance } from 'node:perf_hooks'
import { sql } from 'kysely'
import type { JobWithMetadata } from 'pg-boss'
import type { Schemas } from '../contract/operation.ts'
import { isUnavailable, sqlStateOf } from '../database/errors.ts'
import type { Database, Trx } from '../database/pool.ts'
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
import { countFault } from './progress.ts'
import { retryDelaySeconds } from './queue.ts'

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
  return !isUnavailable(error) || findShortage(error) !== undefined
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

type Paused = Pick<JobWithMetadata, 'id' | 'name' | 'retryDelay'>

/** How long a job that met a shortage leaves the database alone: twice as long after each try. */
function pauseAfter(attempt: number, maxSeconds: number): number {
  return Math.min(2 ** attempt, maxSeconds)
}

/** Has the queue wait so long before it hands the turn out again, once this try has failed. */
export async function setPause(db: Database, { id, name }: Paused, seconds: number): Promise<void> {
  const set = sql`update pgboss.job set retry_delay = ${seconds}`
  await sql`${set} where name = ${name} and id = ${id}`.execute(db)
}

/** Forgets the pause before this try: the worker may die, and then the turn is to be taken up at once. */
export async function endPause(db: Database, turn: Paused): Promise<void> {
  if (turn.retryDelay > retryDelaySeconds) await setPause(db, turn, retryDelaySeconds)
}

const conflict = 'others change the same rows at the same time'

/**
 * What the database has not for a job, by SQLSTATE. It may have it later, or never: the job may be what fills the disk.
 */
const shortages: Record<string, string> = {
  '53100': 'the disk of the database is full',
  '53200': 'the database has too little memory for it',
  '53400': 'it needs more than a limit of the database allows, such as temp_file_limit',
  '57014': 'a statement of it takes longer than it may, or was cancelled',
  '25P04': 'a transaction of it takes longer than the database allows',
  '40001': conflict,
  '40P01': conflict,
}

/** What a job has failed for, in words for its account, if it is something that the database may never have for it. */
function findShortage(error: unknown): string | undefined {
  return shortages[sqlStateOf(error) ?? '']
}
