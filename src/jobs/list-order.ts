import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { type Problem, unavailable } from '../contract/problem.ts'
import type { Trx } from '../database/pool.ts'

const waitMs = 2500
const pauseMs = 40

/** The list has jobs that were accepted earlier. */
class ListBusy extends Error {}

/** Throws, for `takingTurns`, while jobs of the list are under way. The list must be locked. */
export async function rejectBusy(trx: Trx, account: number, priceListId: number): Promise<void> {
  if ((await findOldestJob(trx, account, priceListId)) !== undefined) throw new ListBusy()
}

/**
 * Id of the job of the list that is running or has its turn next; undefined: none is waiting or running. Without a list,
 * of the files of the account that are for none.
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
 * Has the jobs of a list, or the account's files that are for none, get their turns in the order of their ids: until the
 * transaction ends nobody else takes an id. Those who write the list meanwhile are not waited for.
 */
export async function lockTurns(
  trx: Trx,
  account: number,
  priceListId: number | null,
): Promise<void> {
  const name = JSON.stringify(['turns', account, priceListId])
  await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(trx)
}

/**
 * Throws `unavailable` while jobs of the list are under way that were accepted before `job`, the one that asks; undefined:
 * a request does. The list must be locked.
 */
export async function rejectBefore(
  trx: Trx,
  account: number,
  priceListId: number,
  job: number | undefined,
): Promise<void> {
  const oldest = await findOldestJob(trx, account, priceListId)
  if (oldest !== undefined && oldest !== job) throw busy()
}

/**
 * `rejectBefore` after 2.5 seconds: until then it waits for the jobs. The list must not be locked, or they would wait for
 * the one that waits for them.
 */
export async function waitForTurn(
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
  await rejectBefore(trx, account, priceListId, job)
}

/** Runs `work` again while it finds its list busy; after 2.5 seconds throws `unavailable`. */
export async function takingTurns<T>(work: () => Promise<T>): Promise<T> {
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

function busy(): Problem {
  return unavailable('Jobs work on this price list; try again when they are done.', 2)
}
