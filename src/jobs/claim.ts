import { sql } from 'kysely'
import type { JobWithMetadata } from 'pg-boss'
import type { Trx } from '../database/pool.ts'

/** Whether a turn is still with the worker that took it: of one that is silent for too long the queue takes it back. */
export async function isHeld(
  trx: Trx,
  { id, name, retryCount }: Pick<JobWithMetadata, 'id' | 'name' | 'retryCount'>,
): Promise<boolean> {
  const { rows } = await sql`
    select from pgboss.job
    where name = ${name} and id = ${id} and state = 'active' and retry_count = ${retryCount}`.execute(
    trx,
  )
  return rows.length > 0
}
