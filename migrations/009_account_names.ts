import { type Kysely, sql } from 'kysely'

/**
 * What a distributed database cannot keep. A name that is unique over all accounts has a table of its own, which every
 * node has a copy of, and so have users, who refer to it. The statements of the service do what triggers did before.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table account_names (
      id bigint constraint account_names_pkey primary key,
      name text collate "C" not null constraint account_names_name_key unique
    );
    insert into account_names select id, name from accounts;
    alter table account_names enable row level security, force row level security;
    create policy account_names_of_account on account_names
      using (id = (select nullif(current_setting('app.account', true), '')::bigint));
    create policy account_names_of_owner on account_names to current_user using (true);

    alter table accounts drop constraint accounts_name_key;
    alter table users drop constraint users_account_fkey;
    alter table users add constraint users_account_fkey
      foreign key (account_id) references account_names (id) on delete cascade;

    drop trigger if exists sales_account_fkey on sales;
    drop trigger if exists products_account_fkey on products;
    drop trigger if exists agreements_account_fkey on agreements;
    drop function if exists require_account();

    drop trigger if exists catalog_columns_insert_changes_settings on catalog_columns;
    drop trigger if exists catalog_columns_update_changes_settings on catalog_columns;
    drop trigger if exists catalog_columns_delete_changes_settings on catalog_columns;
    drop trigger if exists promotions_insert_changes_settings on promotions;
    drop trigger if exists promotions_update_changes_settings on promotions;
    drop trigger if exists promotions_delete_changes_settings on promotions;
    drop trigger if exists price_lists_insert_changes_settings on price_lists;
    drop function if exists count_settings_change();

    -- Rights on sequences do not travel to other nodes with their tables.
    grant usage on all sequences in schema public to pricewell_app;
    alter default privileges in schema public grant usage on sequences to pricewell_app;
  `.execute(db)
}
