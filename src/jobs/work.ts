import { sql } from 'kysely'
import type { JobWithMetadata, PgBoss } from 'pg-boss'
import type { Database, Trx } from '../database/pool.ts'
import { inAccount } from '../database/tenant-transaction.ts'
import { findOldestJob } from './list-order.ts'
import { fileQueue, listQueue, retentionQueue, type Turn } from './queue.ts'
import { endPause, type RunOptions, runJob, setPause, TurnFailed } from './run-job.ts'

/** A list whose turn it is, and the signal to stop. */
export interface ListTurn {
  db: Database
  account: number
  priceListId: number
  signal: AbortSignal
}

export interface WorkOptions extends RunOptions {
  db: Database
  boss: PgBoss
  /** Deletes what jobs of a list have left that nobody sees; also after a worker that was killed before it could. */
  tidy: (turn: ListTurn) => Promise<void>
  signal: AbortSignal
}

/** Of each queue. */
const jobsAtOnce = 2
/** Jobs start by NOTIFY; what waits behind another job of its list is looked for when that is done. */
const pollingIntervalSeconds = 0.5

/** Takes jobs from the queues until the boss stops. */
export async function startWorkers(options: WorkOptions): Promise<void> {
  for (const queue of [listQueue, fileQueue])
    for (let worker = 0; worker < jobsAtOnce; worker++) await startWorker(queue, options)
}

/** Takes no more jobs; waits for those that are under way. */
export async function stopWorkers(boss: PgBoss): Promise<void> {
  const queues = [listQueue, fileQueue, retentionQueue]
  await Promise.all(queues.map((queue) => boss.offWork(queue)))
}

async function startWorker(queue: string, { boss, ...options }: WorkOptions): Promise<void> {
  const workOptions = {
    includeMetadata: true,
    pollingIntervalSeconds,
    notifyPollingIntervalSeconds: pollingIntervalSeconds,
  } as const
  let id = ''
  const work = async ([turn]: JobWithMetadata<Turn>[]) => {
    if (turn)
      await takeTurn(turn, { boss, ...options }).catch((error) => failTurn(error, turn, options))
    boss.notifyWorker(id)
  }
  id = await boss.work(queue, workOptions, work)
}

/** One job whose turn it is, if there is one left: a job that was cancelled leaves its turn unused. */
async function takeTurn(turn: JobWithMetadata<Turn>, options: WorkOptions): Promise<void> {
  const { account, priceListId } = turn.data
  await endPause(options.db, turn)
  const job = await inAccount(options.db, account, (trx) => findJobOfTurn(trx, turn))
  if (job !== undefined)
    await runJob(
      { db: options.db, account, job, number: turn.retryCount, signal: options.signal },
      options,
    )
  if (priceListId === null) return
  await options.tidy({ db: options.db, account, priceListId, signal: options.signal })
  // It may not have come to its end: the next worker does, and finds no job.
  if (options.signal.aborted) throw new TurnFailed(options.signal.reason)
}

/**
 * The job whose turn it is. The turn is looked at last: by a worker that was paused, the job of another turn may be found.
 */
async function findJobOfTurn(trx: Trx, turn: JobWithMetadata<Turn>): Promise<number | undefined> {
  const { account, priceListId } = turn.data
  const job = await findOldestJob(trx, account, priceListId)
  return (await isHeld(trx, turn)) ? job : undefined
}

/** What is no failure of a job, like a database that is away, is logged here. */
async function failTurn(
  error: unknown,
  turn: JobWithMetadata<Turn>,
  { db, log }: Pick<WorkOptions, 'db' | 'log'>,
): Promise<never> {
  if (!(error instanceof TurnFailed)) {
    const { account, priceListId: price_list } = turn.data
    const attempt = turn.retryCount
    log(
      { account, price_list, attempt, err: error },
      'a turn failed: its job was not taken up, or its list not tidied',
    )
    throw new TurnFailed(error)
  }
  const { pauseSeconds } = error
  // A pause that cannot be noted is that of the queue: the disk may be full for this, too.
  if (pauseSeconds > 0) await setPause(db, turn, pauseSeconds).catch(() => undefined)
  throw error
}

/** Whether a turn is still with the worker that took it: of one that is silent for too long the queue takes it back. */
export async function isHeld(
  trx: Trx,
  { id, name, retryCount }: Pick<JobWithMetadata, 'id' | 'name' | 'retryCount'>,
): Promise<boolean> {
  const { rows } = await sql`
    select from pgboss.job
    where name = ${name} and id = ${id} and state = 'active' and retry_count = ${retryCount}`.execute(
    trx,
  )
  return rows.length > 0
}
