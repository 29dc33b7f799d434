import { type Kysely, sql } from 'kysely'

/**
 * Price lists and their rows. A publication raises `version` of the list, one row: a row is published from its
 * `added_version` until its `removed_version`, so readers see all of a publication or none of it.
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
    ) with (fillfactor = 50)`.execute(db)
  // code and extensions stand in the row so that reads need no join; prices are indexed by dimension and by no index,
  // so that a price update is a heap-only update.
  await sql`
    create table price_list_rows (
      account_id bigint not null,
      price_list_id bigint not null,
      id bigint generated always as identity,
      product_id bigint not null,
      code text collate "C" not null,
      extensions text[] collate "C" not null,
      prices numeric[] not null,
      dynamic_attributes jsonb,
      added_version integer not null,
      removed_version integer,
      constraint price_list_rows_pkey primary key (account_id, price_list_id, id),
      constraint price_list_rows_key unique (account_id, price_list_id, code, extensions),
      constraint price_list_rows_list_fkey foreign key (account_id, price_list_id)
        references price_lists (account_id, id) on delete cascade
    ) with (fillfactor = 85)`.execute(db)
  await sql`
    create index price_list_rows_removed on price_list_rows (account_id, price_list_id)
      where removed_version is not null`.execute(db)
  // A calendar list has a price for each dimension and day: 31 of them a month, absent months and days are 0.
  await sql`
    create table calendar_months (
      account_id bigint not null,
      price_list_id bigint not null,
      row_id bigint not null,
      dimension integer not null,
      month date not null,
      prices numeric[] not null,
      constraint calendar_months_pkey primary key (account_id, price_list_id, row_id, dimension, month),
      constraint calendar_months_row_fkey foreign key (account_id, price_list_id, row_id)
        references price_list_rows (account_id, price_list_id, id) on delete cascade
    ) with (fillfactor = 85)`.execute(db)
  for (const table of ['price_lists', 'price_list_rows', 'calendar_months']) {
    await sql`alter table ${sql.table(table)} enable row level security, force row level security`.execute(
      db,
    )
    await sql`
      create policy ${sql.ref(`${table}_of_account`)} on ${sql.table(table)}
        using (account_id = nullif(current_setting('app.account', true), '')::bigint)`.execute(db)
  }
}
