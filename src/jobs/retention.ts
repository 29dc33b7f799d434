import { sql } from 'kysely'
import type { PgBoss } from 'pg-boss'
import { retentionQueue } from './queue.ts'
import type { WorkOptions } from './work.ts'

/** Where it works, and who is told that it failed. */
type RetentionOptions = Pick<WorkOptions, 'db' | 'log'>

const everyHour = '17 * * * *'

/** What removes jobs 7 days after they ended, and idempotency keys after 24 hours. */
const removals = [sql`select delete_expired_jobs()`, sql`select delete_expired_keys()`]

/** Removes what has expired, once an hour, in whichever process comes first. One that fails keeps no other, and is logged. */
export async function startRetention(boss: PgBoss, { db, log }: RetentionOptions): Promise<void> {
  await boss.schedule(retentionQueue, everyHour)
  await boss.work(retentionQueue, async () => {
    const ends = await Promise.allSettled(removals.map((removal) => removal.execute(db)))
    for (const end of ends)
      if (end.status === 'rejected') log({ err: end.reason }, 'what has expired was not removed')
  })
}
