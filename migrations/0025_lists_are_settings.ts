import { type Kysely, sql } from 'kysely'

/**
 * A new list is a change of its account's settings. A database that has lost a list, as in a failover or a restored
 * copy, gives the next one the id under which a process has kept the list that was lost.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create trigger price_lists_insert_changes_settings
      after insert on price_lists referencing new table as changed
      for each statement execute function count_settings_change()`.execute(db)
}
