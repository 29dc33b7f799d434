import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table agreements (
      account_id bigint not null,
      id bigint generated always as identity,
      -- Of name, client, price list and price line, which may have any keys in any order.
      key_hash bytea not null,
      name text collate "C" not null,
      client_code text collate "C" not null,
      price_list_code text collate "C" not null,
      price_line jsonb not null,
      prices jsonb not null,
      version integer not null default 1,
      constraint agreements_pkey primary key (account_id, id),
      constraint agreements_key unique (account_id, key_hash)
      -- Half of a page stays free, as in sales.
    ) with (fillfactor = 50);
    -- For the filters of the list, in the order of its pages.
    create index agreements_client on agreements (account_id, client_code, id);
    create index agreements_price_list on agreements (account_id, price_list_code, id);
    create index agreements_name on agreements (account_id, name, id);
    alter table agreements enable row level security, force row level security;
    create policy agreements_of_account on agreements
      using (account_id = (select nullif(current_setting('app.account', true), '')::bigint));
  `.execute(db)
}
