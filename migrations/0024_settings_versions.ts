import { type Kysely, sql } from 'kysely'

/**
 * Each change of an account's settings gives them a version that they never had. With a count, a database that has lost
 * the last change, as in a failover or a restored copy, would give the next one the number under which a process has
 * kept the change that was lost.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function count_settings_change() returns trigger
      language plpgsql security definer set search_path = pg_catalog, pg_temp
      as $$
      begin
        -- Of the size that a JavaScript number holds.
        update public.accounts set settings_version = random() * 9007199254740991
          where id in (select account_id from changed);
        return null;
      end $$`.execute(db)
}
