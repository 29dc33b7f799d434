import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Database, Trx } from './pool.ts'

/** Deadlock and serialization failure: nothing was done, and the same work succeeds when done again. */
const retriedStates = new Set(['40P01', '40001'])
const attemptsMax = 4

/**
 * Runs `work` in one transaction that sees and changes nothing but the account's rows. Retries deadlocks and
 * serialization failures, so `work` must have no effect outside the transaction.
 */
export async function inAccount<T>(
  db: Database,
  account: number,
  work: (trx: Trx) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.transaction().execute(async (trx) => {
        await setAccount(trx, account)
        return await work(trx)
      })
    } catch (error) {
      const state = (error as { code?: string }).code ?? ''
      if (!retriedStates.has(state) || attempt === attemptsMax) throw error
      await sleep(Math.random() * 20 * 2 ** attempt)
    }
  }
}

/** SET LOCAL and not set_config(): a distributed database passes only the statement on to its shards. */
async function setAccount(trx: Trx, account: number): Promise<void> {
  if (!Number.isSafeInteger(account)) throw new Error('account is not an integer')
  await sql.raw(`set local app.account = '${account}'`).execute(trx)
}
