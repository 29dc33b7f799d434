import { type Kysely, sql } from 'kysely'

/** The columns that an account declares, and its products. Values are canonical texts, by ordinal within their kind. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table catalog_columns (
      account_id bigint not null constraint catalog_columns_account_fkey references accounts (id) on delete cascade,
      position integer not null,
      name text collate "C" not null,
      kind text not null constraint catalog_columns_kind_check check (kind in ('attribute', 'extension', 'cost')),
      type text not null
        constraint catalog_columns_type_check check (type in ('string', 'integer', 'number', 'boolean', 'date')),
      allowed_values jsonb,
      ordinal integer not null,
      -- Collated: Lithuanian would sort Y before J, Danish AA after Z.
      letter text collate "C" not null,
      constraint catalog_columns_pkey primary key (account_id, position),
      constraint catalog_columns_name_key unique (account_id, name)
    );
    alter table catalog_columns enable row level security, force row level security;
    create policy catalog_columns_of_account on catalog_columns
      using (account_id = (select nullif(current_setting('app.account', true), '')::bigint));

    create table products (
      account_id bigint not null,
      id bigint generated always as identity,
      code text collate "C" not null,
      extensions text[] collate "C" not null,
      -- The extensions as one text, ["UK","boys"], for the key. Under row-level security an index is searched only with
      -- operators that cannot leak, as those of text and not those of arrays: a key on the array would be looked up by
      -- its code alone, and read all extensions of the code. The index is a third smaller, too.
      extension_key text collate "C" not null
        constraint products_extension_key_check check (extension_key = array_to_json(extensions)::text),
      costs numeric[] not null,
      active boolean,
      constraint products_pkey primary key (account_id, id),
      constraint products_key unique (account_id, code, extension_key)
      -- Half of a page stays free, as in sales.
    ) with (fillfactor = 50);
    alter table products enable row level security, force row level security;
    create policy products_of_account on products
      using (account_id = (select nullif(current_setting('app.account', true), '')::bigint));

    -- An attribute has one value per code: kept by code, it cannot differ between the rows of a code.
    create table product_attributes (
      account_id bigint not null,
      code text collate "C" not null,
      attributes text[] collate "C" not null,
      constraint product_attributes_pkey primary key (account_id, code)
      -- Half of a page stays free, as in sales.
    ) with (fillfactor = 50);
    alter table product_attributes enable row level security, force row level security;
    create policy product_attributes_of_account on product_attributes
      using (account_id = (select nullif(current_setting('app.account', true), '')::bigint));
  `.execute(db)
}
