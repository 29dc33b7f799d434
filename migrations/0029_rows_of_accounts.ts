import { type Kysely, sql } from 'kysely'

/**
 * Nothing is written for an account that there is not: a feed that nobody but the sender's token can read is lost. Asked
 * once a statement, where a foreign key would ask for each row. The other tables refer to the account, or to rows that do.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function require_account() returns trigger
      language plpgsql set search_path = pg_catalog, pg_temp
      as $$
      declare
        current_account bigint := nullif(current_setting('app.account', true), '')::bigint;
      begin
        if current_account is not null and not exists (select from public.accounts where id = current_account) then
          raise foreign_key_violation using
            message = 'there is no such account', constraint = tg_name, table = tg_table_name;
        end if;
        return null;
      end $$`.execute(db)
  for (const table of ['agreements', 'products', 'sales']) {
    await sql`
      create trigger ${sql.ref(`${table}_account_fkey`)}
        before insert on ${sql.table(table)}
        for each statement execute function require_account()`.execute(db)
  }
}
