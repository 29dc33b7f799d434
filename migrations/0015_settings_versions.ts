import { type Kysely, sql } from 'kysely'

/**
 * An account's `settings_version` grows with every change of its columns and promotions, whoever makes it: what a
 * process has kept of them holds as long as the number does.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table accounts add column settings_version bigint not null default 0`.execute(db)
  await sql`
    create function count_settings_change() returns trigger
      language plpgsql security definer set search_path = pg_catalog, pg_temp
      as $$
      begin
        update public.accounts set settings_version = settings_version + 1
          where id in (select account_id from changed);
        return null;
      end $$`.execute(db)
  const transitions = { insert: 'new', update: 'new', delete: 'old' }
  for (const table of ['catalog_columns', 'promotions']) {
    for (const [event, side] of Object.entries(transitions)) {
      await sql`
        create trigger ${sql.ref(`${table}_${event}_changes_settings`)}
          after ${sql.raw(event)} on ${sql.table(table)} referencing ${sql.raw(side)} table as changed
          for each statement execute function count_settings_change()`.execute(db)
    }
  }
}
