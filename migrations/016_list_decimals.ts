import { type Kysely, sql } from 'kysely'

/** The decimals of a list's prices, 0 to 6. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table price_lists add column decimals smallint not null default 6`.execute(db)
}
