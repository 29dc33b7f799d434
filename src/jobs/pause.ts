import { sql } from 'kysely'
import type { JobWithMetadata } from 'pg-boss'
import type { Database } from '../database/pool.ts'
import { retryDelaySeconds } from './queue.ts'

type Paused = Pick<JobWithMetadata, 'id' | 'name' | 'retryDelay'>

/** How long a job that met a shortage leaves the database alone: twice as long after each try. */
export function pauseAfter(attempt: number, maxSeconds: number): number {
  return Math.min(2 ** attempt, maxSeconds)
}

/** Has the queue wait so long before it hands the turn out again, once this try has failed. */
export async function setPause(db: Database, { id, name }: Paused, seconds: number): Promise<void> {
  const set = sql`update pgboss.job set retry_delay = ${seconds}`
  await sql`${set} where name = ${name} and id = ${id}`.execute(db)
}

/** Forgets the pause before this try: the worker may die, and then the turn is to be taken up at once. */
export async function endPause(db: Database, turn: Paused): Promise<void> {
  if (turn.retryDelay > retryDelaySeconds) await setPause(db, turn, retryDelaySeconds)
}
