import { sql } from 'kysely'
import type { JobWithMetadata, PgBoss } from 'pg-boss'
import type { Database, Trx } from '../database/pool.ts'
import { inAccount } from '../database/tenant-transaction.ts'
import { findOldestJob } from './list-order.ts'
import { fileQueue, listQueue, planQueue, retentionQueue, type Slot } from './queue.ts'
import { AttemptFailed, endBackoff, type RunOptions, runJob, setBackoff } from './run-job.ts'

/** A list whose slot this worker holds, and the signal to stop. */
export interface HeldList {
  db: Database
  account: number
  priceListId: number
  signal: AbortSignal
}

export interface WorkOptions extends RunOptions {
  db: Database
  boss: PgBoss
  /** Archives rows that the list's jobs removed and analyzes those they added, also after a worker that was killed. */
  tidy: (list: HeldList) => Promise<void>
  signal: AbortSignal
}

const workersPerQueue = 2
/** NOTIFY starts a job immediately; polling finds a job that waited for another job of its list. */
const pollingIntervalSeconds = 0.5

/** Takes jobs from the queues until the boss stops. */
export async function startWorkers(options: WorkOptions): Promise<void> {
  for (const queue of [listQueue, fileQueue])
    for (let worker = 0; worker < workersPerQueue; worker++) await startWorker(queue, options)
}

/** Stops taking jobs, and waits for those that are running. */
export async function stopWorkers(boss: PgBoss): Promise<void> {
  const queues = [listQueue, fileQueue, planQueue, retentionQueue]
  await Promise.all(queues.map((queue) => boss.offWork(queue)))
}

async function startWorker(queue: string, options: WorkOptions): Promise<void> {
  const { boss } = options
  const workOptions = {
    includeMetadata: true,
    pollingIntervalSeconds,
    notifyPollingIntervalSeconds: pollingIntervalSeconds,
  } as const
  let id = ''
  const work = async ([slot]: JobWithMetadata<Slot>[]) => {
    if (slot) await useSlot(slot, options).catch((error) => failSlot(error, slot, options))
    boss.notifyWorker(id)
  }
  id = await boss.work(queue, workOptions, work)
}

/** Runs the job that the slot is for, unless it was cancelled, then tidies the list. */
async function useSlot(slot: JobWithMetadata<Slot>, options: WorkOptions): Promise<void> {
  const { account, priceListId } = slot.data
  const { db, signal } = options
  await endBackoff(db, slot)
  const job = await inAccount(db, account, (trx) => findJobOfSlot(trx, slot))
  if (job !== undefined)
    await runJob({ db, account, job, number: slot.retryCount, signal }, options)
  if (priceListId === null) return
  await options.tidy({ db, account, priceListId, signal })
  // Tidying may have stopped early: the slot's next worker finds no job and continues tidying.
  if (signal.aborted) throw new AttemptFailed(signal.reason)
}

/** Checks the lease last: a worker that was paused might find a job that belongs to another slot. */
async function findJobOfSlot(trx: Trx, slot: JobWithMetadata<Slot>): Promise<number | undefined> {
  const { account, priceListId } = slot.data
  const job = await findOldestJob(trx, account, priceListId)
  return (await holdsLease(trx, slot)) ? job : undefined
}

/** Logs errors that are not a job's own, such as an unreachable database. Always throws AttemptFailed. */
async function failSlot(
  error: unknown,
  slot: JobWithMetadata<Slot>,
  { db, log }: Pick<WorkOptions, 'db' | 'log'>,
): Promise<never> {
  if (!(error instanceof AttemptFailed)) {
    const { account, priceListId: price_list } = slot.data
    const fields = { account, price_list, attempt: slot.retryCount, err: error }
    log(fields, 'a job was not taken up, or its list not tidied')
    throw new AttemptFailed(error)
  }
  const { backoffSeconds } = error
  // If the backoff cannot be stored (the disk may be full), the queue waits a second.
  if (backoffSeconds > 0) await setBackoff(db, slot, backoffSeconds).catch(() => undefined)
  throw error
}

/** Whether the worker still owns the slot: the queue takes it back when the heartbeat stops. */
export async function holdsLease(
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
