import { sql } from 'kysely'
import type { PgBoss } from 'pg-boss'
import type { Database } from '../database/pool.ts'
import { retentionQueue } from './queue.ts'

const everyHour = '17 * * * *'

/** Once an hour, in whichever process comes first: removes jobs 7 days after they ended, idempotency keys after 24 hours. */
export async function startRetention(boss: PgBoss, db: Database): Promise<void> {
  await boss.schedule(retentionQueue, everyHour)
  await boss.work(retentionQueue, async () => {
    await sql`select delete_expired_jobs()`.execute(db)
    await sql`select delete_expired_keys()`.execute(db)
  })
}
