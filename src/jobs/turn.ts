import { setTimeout as sleep } from 'node:timers/promises'
import { unavailable } from '../contract/problem.ts'
import type { Trx } from '../database/pool.ts'

const waitMs = 2500
const pauseMs = 40

/** The list has jobs that were accepted earlier. */
class ListBusy extends Error {}

/** Throws, for `takingTurns`, while jobs of the list are under way. The list must be locked. */
export async function rejectBusy(trx: Trx, account: number, priceListId: number): Promise<void> {
  if ((await findOldestJob(trx, account, priceListId)) !== undefined) throw new ListBusy()
}

/** Id of the job of the list that is running or has its turn next; undefined: none is waiting or running. */
export async function findOldestJob(
  trx: Trx,
  account: number,
  priceListId: number,
): Promise<number | undefined> {
  const row = await trx
    .selectFrom('jobs')
    .select('id')
    .where('account_id', '=', account)
    .where('price_list_id', '=', priceListId)
    .where('status', '=', 'progress')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
  return row?.id
}

/** Runs `work` again while it finds its list busy; after 2.5 seconds throws `unavailable`. */
export async function takingTurns<T>(work: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + waitMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof ListBusy)) throw error
      if (Date.now() > deadline)
        throw unavailable('Jobs work on this price list; try again when they are done.', 2)
      await sleep(pauseMs)
    }
  }
}
