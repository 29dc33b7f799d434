import { type Kysely, sql } from 'kysely'

/** Account-defined columns and the products. Column values are canonical texts, by ordinal within their kind. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table catalog_columns (
      account_id bigint not null constraint catalog_columns_account_fkey references accounts (id) on delete cascade,
      name text collate "C" not null,
      kind text not null constraint catalog_columns_kind_check check (kind in ('attribute', 'extension', 'cost')),
      type text not null
        constraint catalog_columns_type_check check (type in ('string', 'integer', 'number', 'boolean', 'date')),
      allowed_values jsonb,
      ordinal integer not null,
      letter text not null,
      position integer not null,
      constraint catalog_columns_pkey primary key (account_id, position),
      constraint catalog_columns_name_key unique (account_id, name)
    )`.execute(db)
  await sql`
    create table products (
      account_id bigint not null,
      id bigint generated always as identity,
      code text collate "C" not null,
      extensions text[] collate "C" not null,
      costs numeric[] not null,
      active boolean,
      constraint products_pkey primary key (account_id, id),
      constraint products_key unique (account_id, code, extensions)
    ) with (fillfactor = 90)`.execute(db)
  // An attribute has one value per code: kept by code, it cannot differ between the rows of one.
  await sql`
    create table product_attributes (
      account_id bigint not null,
      code text collate "C" not null,
      attributes text[] collate "C" not null,
      constraint product_attributes_pkey primary key (account_id, code)
    ) with (fillfactor = 90)`.execute(db)
  for (const table of ['catalog_columns', 'products', 'product_attributes']) {
    await sql`alter table ${sql.table(table)} enable row level security, force row level security`.execute(
      db,
    )
    await sql`
      create policy ${sql.ref(`${table}_of_account`)} on ${sql.table(table)}
        using (account_id = nullif(current_setting('app.account', true), '')::bigint)`.execute(db)
  }
}
