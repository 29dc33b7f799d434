import { sql } from 'kysely'
import type { PgBoss } from 'pg-boss'
import { retentionQueue } from './queue.ts'
import type { WorkOptions } from './work.ts'

interface RetentionOptions extends Pick<WorkOptions, 'db' | 'log'> {
  /** How long the history of price lists and promotions is kept. */
  historyDays: number
}

const everyHour = '17 * * * *'

/** Jobs are removed 7 days after they end, idempotency keys after 24 hours. */
const removals = (historyDays: number) => [
  sql`select delete_expired_jobs()`,
  sql`select delete_expired_keys()`,
  sql`select delete_expired_plans()`,
  sql`select expire_history(${historyDays}::integer)`,
  sql`select delete_expired_history(${historyDays}::integer)`,
]

/** Removes expired rows once an hour, in one process. A failed removal is logged and does not stop the others. */
export async function startRetention(
  boss: PgBoss,
  { db, log, historyDays }: RetentionOptions,
): Promise<void> {
  await boss.schedule(retentionQueue, everyHour)
  await boss.work(retentionQueue, async () => {
    // One after another: together they would hold most of the connections that jobs have.
    for (const removal of removals(historyDays))
      await removal.execute(db).catch((err) => log({ err }, 'what has expired was not removed'))
  })
}
