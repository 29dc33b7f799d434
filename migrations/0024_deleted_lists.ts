import { type Kysely, sql } from 'kysely'

/**
 * A list is deleted at once and its rows in chunks behind it, as nobody sees them any more: with a million rows one
 * statement that deletes all of them takes longer than a request may. Writers of rows lock their list.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table price_list_rows drop constraint price_list_rows_list_fkey`.execute(db)
}
