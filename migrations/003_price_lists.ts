import { type Kysely, sql } from 'kysely'

/**
 * Price lists and their rows. A publication raises the `version` of its list, one row. A row is published from its
 * `added_version` until its `removed_version`, so that readers see all of a publication or none of it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table price_lists (
      account_id bigint not null constraint price_lists_account_fkey references accounts (id) on delete cascade,
      id bigint generated always as identity,
      name text collate "C" not null,
      description text,
      valid_from date not null,
      valid_to date not null,
      price_dimensions text[] collate "C" not null,
      margin_formula text not null,
      product_filters jsonb not null,
      is_calendar boolean not null,
      origin text not null,
      version integer not null default 0,
      published_at timestamptz,
      constraint price_lists_pkey primary key (account_id, id),
      constraint price_lists_name_key unique (account_id, name)
    ) with (fillfactor = 50);
    alter table price_lists enable row level security, force row level security;
    create policy price_lists_of_account on price_lists
      using (account_id = (select nullif(current_setting('app.account', true), '')::bigint));

    -- No foreign keys from here on: they would be looked up for each row, a third of the time of adding it. Writers lock
    -- the list, and its deletion, which locks it too, deletes its rows and their months first.
    create table price_list_rows (
      account_id bigint not null,
      price_list_id bigint not null,
      id bigint generated always as identity,
      product_id bigint not null,
      -- A copy of the product's key, so that reads need no join. See products for extension_key.
      code text collate "C" not null,
      extensions text[] collate "C" not null,
      extension_key text collate "C" not null,
      -- By dimension, and in no index, so that a price update is a heap-only update.
      prices numeric[] not null,
      dynamic_attributes jsonb,
      added_version integer not null,
      removed_version integer,
      constraint price_list_rows_pkey primary key (account_id, price_list_id, id),
      constraint price_list_rows_key unique (account_id, price_list_id, code, extension_key)
    ) with (fillfactor = 85);
    -- Never searched: statistics about them would be of no use and take a third of the time of ANALYZE.
    alter table price_list_rows
      alter column prices set statistics 0,
      alter column dynamic_attributes set statistics 0;
    create index price_list_rows_removed on price_list_rows (account_id, price_list_id)
      where removed_version is not null;
    alter table price_list_rows enable row level security, force row level security;
    create policy price_list_rows_of_account on price_list_rows
      using (account_id = (select nullif(current_setting('app.account', true), '')::bigint));

    -- A calendar list has a price for each dimension and day: 31 a month. Absent months and days are 0.
    create table calendar_months (
      account_id bigint not null,
      price_list_id bigint not null,
      row_id bigint not null,
      dimension integer not null,
      month date not null,
      prices numeric[] not null,
      constraint calendar_months_pkey primary key (account_id, price_list_id, row_id, dimension, month)
    ) with (fillfactor = 85);
    alter table calendar_months enable row level security, force row level security;
    create policy calendar_months_of_account on calendar_months
      using (account_id = (select nullif(current_setting('app.account', true), '')::bigint));
  `.execute(db)
}
