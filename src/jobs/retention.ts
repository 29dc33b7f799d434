import { sql } from 'kysely'
import type { PgBoss } from 'pg-boss'
import type { Database } from '../database/pool.ts'
import { retentionQueue } from './queue.ts'
import type { WorkOptions } from './work.ts'

interface RetentionOptions extends Pick<WorkOptions, 'db' | 'log'> {
  /** How long the history of price lists and promotions is kept. */
  historyDays: number
}

const everyHour = '17 * * * *'

/** Jobs are removed 7 days after they end, idempotency keys after 24 hours. */
const removals = (db: Database, historyDays: number) => [
  () => sql`select delete_expired_jobs()`.execute(db),
  () => sql`select delete_expired_keys()`.execute(db),
  () => sql`select delete_expired_plans()`.execute(db),
  () => expireHistory(db, historyDays),
  () => sql`select delete_expired_history(${historyDays}::integer)`.execute(db),
]

/**
 * Moves the beginning of the history that can be read. Writers of all lists wait for it, so it waits a second at most
 * for one of them. Throws if that is not enough.
 */
export function expireHistory(db: Database, days: number): Promise<unknown> {
  return db.transaction().execute(async (trx) => {
    await sql`set local lock_timeout = '1s'`.execute(trx)
    await sql`select expire_history(${days}::integer)`.execute(trx)
  })
}

/** Removes expired rows once an hour, in one process. A failed removal is logged and does not stop the others. */
export async function startRetention(
  boss: PgBoss,
  { db, log, historyDays }: RetentionOptions,
): Promise<void> {
  await boss.schedule(retentionQueue, everyHour)
  await boss.work(retentionQueue, async () => {
    // One after another: together they would hold most of the connections that jobs have.
    for (const remove of removals(db, historyDays))
      await remove().catch((err) => log({ err }, 'what has expired was not removed'))
  })
}
