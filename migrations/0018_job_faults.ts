import { type Kysely, sql } from 'kysely'

/**
 * How often a job failed by a fault of its own. Attempts do not tell: a worker that was killed, a deploy and a database
 * that was away each take one too.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table jobs add column faults integer not null default 0`.execute(db)
}
