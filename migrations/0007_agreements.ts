import { type Kysely, sql } from 'kysely'

/** Agreements. `key_hash` stands for name, client, price list and price line, which has any keys in any order. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table agreements (
      account_id bigint not null,
      id bigint generated always as identity,
      key_hash bytea not null,
      name text collate "C" not null,
      client_code text collate "C" not null,
      price_list_code text collate "C" not null,
      price_line jsonb not null,
      prices jsonb not null,
      version integer not null default 1,
      constraint agreements_pkey primary key (account_id, id),
      constraint agreements_key unique (account_id, key_hash)
    ) with (fillfactor = 90)`.execute(db)
  await sql`create index agreements_client on agreements (account_id, client_code, id)`.execute(db)
  await sql`alter table agreements enable row level security, force row level security`.execute(db)
  await sql`
    create policy agreements_of_account on agreements
      using (account_id = nullif(current_setting('app.account', true), '')::bigint)`.execute(db)
}
