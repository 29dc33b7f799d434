import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { CommitInDoubt, isConnectionLost, isOutdatedPlan, TransactionNotStarted } from './errors.ts'
import { type Database, lockTimeoutOf, requestLockTimeoutMs, type Trx } from './pool.ts'

/** Deadlock and serialization failure: nothing was done, and the same work can succeed. */
const retriedStates = new Set(['40P01', '40001'])
const attemptsMax = 4
const noticedWaitMs = 200
const lockWaitMinMs = 250

/**
 * Runs `work` in one transaction that sees and changes only the account's rows. Deadlocks, serialization failures,
 * transactions that did not start and outdated plans are retried: `work` must have no effect outside the transaction. The
 * time since `since` (`performance.now()`) shortens the wait for locks. Throws CommitInDoubt if the connection breaks at
 * the commit.
 */
export function inAccount<T>(
  db: Database,
  account: number,
  work: (trx: Trx) => Promise<T>,
  since?: number,
): Promise<T> {
  let first = since
  return retrying(() => {
    // A deadlock is found after a second: its victim gets the full wait for locks again.
    const began = first
    first = undefined
    return onceInAccount(db, account, work, began)
  })
}

/** `inAccount` without retries, for work that cannot be repeated, such as reading a file as it arrives. */
export async function onceInAccount<T>(
  db: Database,
  account: number,
  work: (trx: Trx) => Promise<T>,
  since = performance.now(),
): Promise<T> {
  let isWorkDone = false
  const committed = db.transaction().execute(async (trx) => {
    const waitedMs = Math.round(performance.now() - since)
    await setAccount(trx, account)
    await setLockTimeout(trx, lockTimeoutOf(db), waitedMs)
    const result = await work(trx)
    isWorkDone = true
    return result
  })
  return committed.catch((error) => {
    throw isWorkDone && isConnectionLost(error) ? new CommitInDoubt(error) : error
  })
}

/** Runs `work` in a read-only transaction that sees one snapshot of the account. */
export async function readInAccount<T>(
  db: Database,
  account: number,
  work: (trx: Trx) => Promise<T>,
): Promise<T> {
  const reading = db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only')
  return reading.execute(async (trx) => {
    await setAccount(trx, account)
    return await work(trx)
  })
}

/** Runs the last part of a transaction. After a deadlock, rolls back to where that part began and retries it. */
export async function retryingFromHere<T>(trx: Trx, work: () => Promise<T>): Promise<T> {
  await sql`savepoint here`.execute(trx)
  return retrying(work, () => sql`rollback to savepoint here`.execute(trx))
}

async function retrying<T>(work: () => Promise<T>, undo?: () => Promise<unknown>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!isRetried(error) || attempt === attemptsMax) throw error
      await undo?.()
      await sleep(Math.random() * 20 * 2 ** attempt)
    }
  }
}

function isRetried(error: unknown): boolean {
  const { code = '' } = error as { code?: string }
  const isOurs = error instanceof TransactionNotStarted
  return retriedStates.has(code) || isOurs || isOutdatedPlan(error)
}

/**
 * The wait for a seat counts as a wait for locks. A distributed database does not pass session settings on: its shards
 * use the role's lock timeout, `requestLockTimeoutMs`.
 */
async function setLockTimeout(trx: Trx, timeoutMs: number, waitedMs: number): Promise<void> {
  const leftMs =
    waitedMs > noticedWaitMs ? Math.max(lockWaitMinMs, timeoutMs - waitedMs) : timeoutMs
  if (leftMs === requestLockTimeoutMs) return
  await sql.raw(`set local lock_timeout = ${leftMs}`).execute(trx)
}

/** SET LOCAL, because distributed databases do not pass set_config() on to their shards. */
export async function setAccount(trx: Trx, account: number): Promise<void> {
  if (!Number.isSafeInteger(account)) throw new Error('account is not an integer')
  await sql.raw(`set local app.account = '${account}'`).execute(trx)
}
