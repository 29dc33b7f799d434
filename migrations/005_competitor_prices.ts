import { type Kysely, sql } from 'kysely'

/** Competitor prices, and the one schema that an account has for them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table competitor_schemas (
      account_id bigint not null
        constraint competitor_schemas_pkey primary key
        constraint competitor_schemas_account_fkey references accounts (id) on delete cascade,
      -- A copy of the catalog's columns, so that prices stay readable when the catalog changes.
      columns jsonb not null,
      is_dated boolean not null,
      created_at timestamptz not null default now()
    );
    alter table competitor_schemas enable row level security, force row level security;
    create policy competitor_schemas_of_account on competitor_schemas
      using (account_id = (select nullif(current_setting('app.account', true), '')::bigint));

    create table competitor_prices (
      account_id bigint not null,
      id bigint generated always as identity,
      -- Of all that identifies a price: 131 columns would not fit into an index.
      hash bytea not null,
      -- Among the dimensions, too; here it can be looked up.
      code text collate "C",
      -- Canonical texts in the order of the schema.
      dimensions text[] collate "C" not null,
      competitor_name text collate "C" not null,
      departure_date date,
      competitor_price numeric not null,
      latest_update timestamptz not null,
      constraint competitor_prices_pkey primary key (account_id, id),
      constraint competitor_prices_hash_key unique (account_id, hash)
      -- Half of a page stays free, as in sales.
    ) with (fillfactor = 50);
    -- For the filters of the list, in the order of its pages.
    create index competitor_prices_code on competitor_prices (account_id, code, id) where code is not null;
    create index competitor_prices_name on competitor_prices (account_id, competitor_name, id);
    alter table competitor_prices enable row level security, force row level security;
    create policy competitor_prices_of_account on competitor_prices
      using (account_id = (select nullif(current_setting('app.account', true), '')::bigint));
  `.execute(db)
}
