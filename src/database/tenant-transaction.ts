import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { CommitInDoubt, isConnectionLost, isOutdatedPlan, TransactionNotStarted } from './errors.ts'
import type { Database, Trx } from './pool.ts'

/** Deadlock and serialization failure: nothing was done, and the same work succeeds when done again. */
const retriedStates = new Set(['40P01', '40001'])
const attemptsMax = 4
const noticedWaitMs = 200
const lockWaitMinMs = 250

/**
 * Runs `work` in one transaction that sees and changes nothing but the account's rows. Retries deadlocks, serialization
 * failures, transactions that did not begin and outdated plans, so `work` must have no effect outside the transaction.
 */
export function inAccount<T>(
  db: Database,
  account: number,
  work: (trx: Trx) => Promise<T>,
): Promise<T> {
  return inAccountSince(performance.now(), db, account, work)
}

/** `inAccount` for a caller who has waited since a moment of `performance.now()`: who has waited waits less for locks. */
export async function inAccountSince<T>(
  since: number,
  db: Database,
  account: number,
  work: (trx: Trx) => Promise<T>,
): Promise<T> {
  let first: number | undefined = since
  return retrying(() => {
    // A deadlock is found after a second: who lost it has all of his patience again.
    const began = first ?? performance.now()
    first = undefined
    return onceSince(began, db, account, work)
  })
}

/** `inAccount` for work that cannot be done again from its beginning, like reading a file that arrives. */
export function onceInAccount<T>(
  db: Database,
  account: number,
  work: (trx: Trx) => Promise<T>,
): Promise<T> {
  return onceSince(performance.now(), db, account, work)
}

async function onceSince<T>(
  since: number,
  db: Database,
  account: number,
  work: (trx: Trx) => Promise<T>,
): Promise<T> {
  let isWorkDone = false
  const committed = db.transaction().execute(async (trx) => {
    const waitedMs = Math.round(performance.now() - since)
    await setAccount(trx, account)
    if (waitedMs > noticedWaitMs) await shortenLockWait(trx, waitedMs)
    const result = await work(trx)
    isWorkDone = true
    return result
  })
  return committed.catch((error) => {
    throw isWorkDone && isConnectionLost(error) ? new CommitInDoubt(error) : error
  })
}

/** Runs `work` in one transaction that sees one moment of the account and only reads. */
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

/** Runs the last part of a transaction, again from where it began when it meets a deadlock. */
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

/** Who has waited waits less for locks: a caller's patience is one for all. */
async function shortenLockWait(trx: Trx, waitedMs: number): Promise<void> {
  await sql`
    select set_config('lock_timeout', greatest(${lockWaitMinMs}, setting::integer - ${waitedMs}::integer)::text, true)
    from pg_settings where name = 'lock_timeout'`.execute(trx)
}

/** SET LOCAL and not set_config(): a distributed database passes only the statement on to its shards. */
export async function setAccount(trx: Trx, account: number): Promise<void> {
  if (!Number.isSafeInteger(account)) throw new Error('account is not an integer')
  await sql.raw(`set local app.account = '${account}'`).execute(trx)
}
