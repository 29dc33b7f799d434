import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { type Problem, unavailable } from '../contract/problem.ts'
import type { Trx } from '../database/pool.ts'

const waitMs = 2500
const pauseMs = 40

/** The list has unfinished jobs that were accepted earlier. */
class ListBusy extends Error {}

/** Throws, for `whenListIsFree` to catch, if the list has unfinished jobs. The list must be locked. */
export async function rejectBusy(trx: Trx, account: number, priceListId: number): Promise<void> {
  if ((await findOldestJob(trx, account, priceListId)) !== undefined) throw new ListBusy()
}

/** Runs `work`, and reruns it while its list has unfinished jobs; throws `unavailable` after 2.5 seconds. */
export async function whenListIsFree<T>(work: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + waitMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof ListBusy)) throw error
      if (performance.now() > deadline) throw busy()
      await sleep(pauseMs)
    }
  }
}

/**
 * Returns the id of the list's oldest unfinished job, which is running or next. A null list stands for the account's
 * file loads without a list.
 */
export async function findOldestJob(
  trx: Trx,
  account: number,
  priceListId: number | null,
): Promise<number | undefined> {
  const row = await trx
    .selectFrom('jobs')
    .select('id')
    .where('account_id', '=', account)
    .where('price_list_id', priceListId === null ? 'is' : '=', priceListId)
    .where('status', '=', 'progress')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
  return row?.id
}

/**
 * Keeps the jobs of a list, or the account's file loads without a list, in the order of their ids: no other transaction
 * takes an id until this one ends. Writers of the list do not wait for this lock.
 */
export async function lockListOrder(
  trx: Trx,
  account: number,
  priceListId: number | null,
): Promise<void> {
  const name = JSON.stringify(['list order', account, priceListId])
  await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(trx)
}

/**
 * Throws `unavailable` if the list has unfinished jobs that were accepted before `job` (undefined for a request, which
 * comes after all of them). The list must be locked.
 */
export async function rejectEarlierJobs(
  trx: Trx,
  account: number,
  priceListId: number,
  job: number | undefined,
): Promise<void> {
  const oldest = await findOldestJob(trx, account, priceListId)
  if (oldest !== undefined && oldest !== job) throw busy()
}

/**
 * Waits up to 2.5 seconds for earlier jobs, then calls `rejectEarlierJobs`. The list must not be locked: those jobs
 * need the lock.
 */
export async function waitForEarlierJobs(
  trx: Trx,
  account: number,
  priceListId: number,
  job: number | undefined,
): Promise<void> {
  const deadline = performance.now() + waitMs
  while (performance.now() < deadline) {
    const oldest = await findOldestJob(trx, account, priceListId)
    if (oldest === undefined || oldest === job) return
    await sleep(pauseMs)
  }
  await rejectEarlierJobs(trx, account, priceListId, job)
}

function busy(): Problem {
  return unavailable('Jobs work on this price list; try again when they are done.', 2)
}
