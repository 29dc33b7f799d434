import { sql } from 'kysely'
import type { Database } from '../database/pool.ts'
import type { QueueState } from '../telemetry/telemetry.ts'

/** The jobs of all accounts that have not ended, by whether a try at them has begun. */
export async function findQueueState(db: Database): Promise<QueueState[]> {
  const { rows } = await sql<QueueState>`
    select state, jobs, oldest_seconds as "oldestSeconds" from unfinished_jobs()`.execute(db)
  return rows
}
