import { performance } from 'node:perf_hooks'
import { sql } from 'kysely'
import type { JobWithMetadata } from 'pg-boss'
import type { Schemas } from '../contract/operation.ts'
import { Problem, problemTypes } from '../contract/problem.ts'
import { isUnavailable, sqlStateOf } from '../database/errors.ts'
import type { Database, Trx } from '../database/pool.ts'
import { inAccount } from '../database/tenant-transaction.ts'
import type { AttemptDone } from '../telemetry/metrics.ts'
import type { Tracing } from '../telemetry/tracing.ts'
import {
  type Attempt,
  AttemptLost,
  type CurrentJob,
  inAttempt,
  type JobRow,
  lockCurrent,
  startAttempt,
} from './attempt.ts'
import type { JobKind } from './enqueue.ts'
import { countFault, endDone, endUndone, type Outcome } from './job-row.ts'
import { retryDelaySeconds } from './queue.ts'

/** The job has ended as failed because of its input. */
class JobRefused extends Error {}

/** Runs one kind of job, in chunks, to its end. Throws JobRefused. */
export type RunJob = (attempt: Attempt, job: JobRow) => Promise<void>

/** Undoes the changes that a job has not published. */
export type UndoJob = (trx: Trx, job: CurrentJob) => Promise<void>

/** Undoes what a refused job has left behind. */
type UndoRefused = (trx: Trx, job: JobRow, refusal: Problem) => Promise<void>

/** Wraps a runner: a Problem below 500, which no retry would help, undoes the job and ends it as failed. */
export const refusable =
  (run: RunJob, undo?: UndoRefused): RunJob =>
  async (attempt, job) => {
    try {
      await run(attempt, job)
    } catch (error) {
      if (!(error instanceof Problem) || problemTypes[error.type].status >= 500) throw error
      await endRefused(attempt, error, async (trx) => undo?.(trx, job, error))
      throw new JobRefused(error.type)
    }
  }

/**
 * Runs a whole job in one transaction, and ends it as done. It is locked only then: until then it can be read,
 * cancelled and taken over. Throws AttemptLost.
 */
export function inOneTransaction(
  attempt: Attempt,
  work: (trx: Trx) => Promise<Outcome>,
): Promise<void> {
  attempt.signal.throwIfAborted()
  return inAccount(attempt.db, attempt.account, async (trx) => {
    // Enough for the statement that writes the most.
    await sql`set local statement_timeout = '1h'`.execute(trx)
    const outcome = await work(trx)
    await endDone(trx, await lockCurrent(trx, attempt), outcome)
  })
}

function endRefused(
  attempt: Attempt,
  { type, message, options }: Problem,
  undo: (trx: Trx) => Promise<void>,
): Promise<void> {
  const rows = options.errors ?? []
  const isSaidByRows = rows.length > 0 && problemTypes[type].status === 400
  const errors = isSaidByRows ? rows : [{ code: type, message }, ...rows]
  const errorCount = options.errorCount ?? options.errors?.length
  return inAttempt(attempt, async (trx, job) => {
    await undo(trx)
    await endUndone(trx, job, 'failed', errors, errorCount)
  })
}

export interface RunOptions {
  runners: Record<JobKind, RunJob>
  /** The longest backoff after an attempt that exhausted a resource. */
  backoffMaxSeconds: number
  undo: UndoJob
  /** Logs an error if `err` is among the fields. */
  log: (fields: object, message: string) => void
  /** Counts and traces attempts. */
  watch?: {
    attempt?: ((done: AttemptDone) => void) | undefined
    inSpan?: Tracing['inSpan'] | undefined
  }
}

/** A job is given up after this many faults of its own. */
const faultsMax = 10

/** Reports a failure to the queue, without details: the queue stores errors, and errors quote row values. */
export class AttemptFailed extends Error {
  /** 0 means the default backoff. */
  readonly backoffSeconds: number

  constructor(cause: unknown, backoffSeconds = 0) {
    const state = sqlStateOf(cause)
    super(`the log has the error${state ? `, SQLSTATE ${state}` : ''}`)
    this.backoffSeconds = backoffSeconds
  }
}

/** Runs one attempt at a job, logged, counted and traced. Throws AttemptFailed if the queue should try again. */
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
  const backoffSeconds = exhaustedResource(error)
    ? Math.min(2 ** attempt.number, options.backoffMaxSeconds)
    : 0
  throw new AttemptFailed(error, backoffSeconds)
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

/** An unavailable database is not the job's fault, unless the job itself may have exhausted a resource. */
function isFaultOfJob(error: unknown): boolean {
  return !isUnavailable(error) || exhaustedResource(error) !== undefined
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

/** Counts a fault. At the tenth, the job's unpublished changes are undone and it ends as failed. */
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
  const exhausted = exhaustedResource(error)
  const message = exhausted
    ? `The job could not be done: ${exhausted}. Nothing was published.`
    : 'The job could not be done; nothing was published.'
  return { code: 'internal-error', message }
}

function ignoreLost(error: unknown): undefined {
  if (!(error instanceof AttemptLost)) throw error
}

type QueuedJob = Pick<JobWithMetadata, 'id' | 'name' | 'retryDelay'>

/** Makes the queue wait this long before the next attempt, once this one has failed. */
export async function setBackoff(
  db: Database,
  { id, name }: QueuedJob,
  seconds: number,
): Promise<void> {
  const set = sql`update pgboss.job set retry_delay = ${seconds}`
  await sql`${set} where name = ${name} and id = ${id}`.execute(db)
}

/** Resets the backoff when an attempt begins, so that the next attempt starts soon if the worker dies. */
export async function endBackoff(db: Database, job: QueuedJob): Promise<void> {
  if (job.retryDelay > retryDelaySeconds) await setBackoff(db, job, retryDelaySeconds)
}

const conflict = 'others change the same rows at the same time'

/** Exhaustible resources by SQLSTATE. They may become available later, or never: the job itself may fill the disk. */
const exhaustedResources: Record<string, string> = {
  '53100': 'the disk of the database is full',
  '53200': 'the database has too little memory for it',
  '53400': 'it needs more than a limit of the database allows, such as temp_file_limit',
  '57014': 'a statement of it takes longer than it may, or was cancelled',
  '25P04': 'a transaction of it takes longer than the database allows',
  '40001': conflict,
  '40P01': conflict,
}

/** The resource that a job exhausted, worded for its account. */
function exhaustedResource(error: unknown): string | undefined {
  return exhaustedResources[sqlStateOf(error) ?? '']
}
