import { type Kysely, sql } from 'kysely'

/**
 * Competitor prices and the one schema that an account keeps them under. The schema holds its columns as the catalog
 * had them, so that entries stay readable whatever becomes of the catalog.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table competitor_schemas (
      account_id bigint not null
        constraint competitor_schemas_pkey primary key
        constraint competitor_schemas_account_fkey references accounts (id) on delete cascade,
      columns jsonb not null,
      is_dated boolean not null,
      created_at timestamptz not null default now()
    )`.execute(db)
  // The hash covers everything that identifies an entry: 131 columns would not fit into an index. dimensions holds
  // canonical texts in schema order; code is among them and stands alone to be looked up.
  await sql`
    create table competitor_prices (
      account_id bigint not null,
      id bigint generated always as identity,
      hash bytea not null,
      code text collate "C",
      dimensions text[] collate "C" not null,
      competitor_name text collate "C" not null,
      departure_date date,
      competitor_price numeric not null,
      latest_update timestamptz not null,
      constraint competitor_prices_pkey primary key (account_id, id),
      constraint competitor_prices_hash_key unique (account_id, hash)
    ) with (fillfactor = 90)`.execute(db)
  await sql`
    create index competitor_prices_code on competitor_prices (account_id, code, id) where code is not null`.execute(
    db,
  )
  for (const table of ['competitor_schemas', 'competitor_prices']) {
    await sql`alter table ${sql.table(table)} enable row level security, force row level security`.execute(
      db,
    )
    await sql`
      create policy ${sql.ref(`${table}_of_account`)} on ${sql.table(table)}
        using (account_id = nullif(current_setting('app.account', true), '')::bigint)`.execute(db)
  }
}
