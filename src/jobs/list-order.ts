import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { type Handler, type OperationId, transaction, type Work } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import type { Trx } from '../database/pool.ts'

const waitMs = 2500
const pauseMs = 40

/** The list has unfinished jobs that were accepted earlier. */
class ListBusy extends Problem {
  constructor() {
    const detail = 'Jobs work on this price list; try again when they are done.'
    super('unavailable', detail, { headers: { 'retry-after': '2' } })
  }
}

/**
 * Throws `unavailable` if the list has unfinished jobs that were accepted before `job` (undefined for a request, which
 * comes after all of them). They need the lock of the list: lock it to keep them away, or wait for them without it.
 */
export async function rejectBusy(
  trx: Trx,
  account: number,
  priceListId: number,
  job?: number,
): Promise<void> {
  const oldest = await findOldestJob(trx, account, priceListId)
  if (oldest !== undefined && oldest !== job) throw new ListBusy()
}

/** Runs `work`, and reruns it for up to 2.5 seconds while it throws because its list is busy. */
export async function whenListIsFree<T>(work: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + waitMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof ListBusy) || performance.now() > deadline) throw error
      await sleep(pauseMs)
    }
  }
}

/** The handler of an operation whose work, one transaction, is rerun while its list is busy. */
export const onFreeList =
  <Id extends OperationId>(work: Work<Id>): Handler<Id> =>
  (...call) =>
    whenListIsFree(() => transaction(work)(...call))

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
