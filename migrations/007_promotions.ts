import { type Kysely, sql } from 'kysely'

/** Promotions. Null `price_lists`, `product_filters` and `price_dimensions` mean all of them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table promotions (
      account_id bigint not null constraint promotions_account_fkey references accounts (id) on delete cascade,
      id bigint generated always as identity,
      name text collate "C" not null,
      kind text not null
        constraint promotions_kind_check check (kind in ('percentage', 'amount', 'fixed_price')),
      value numeric not null,
      valid_from date not null,
      valid_to date not null,
      -- By name: lists are not renamed, and a deleted list leaves the promotion readable.
      price_lists text[] collate "C",
      product_filters jsonb,
      price_dimensions text[] collate "C",
      constraint promotions_pkey primary key (account_id, id),
      constraint promotions_name_key unique (account_id, name)
    ) with (fillfactor = 90);
    -- Expired promotions pile up; a read looks at the others only.
    create index promotions_valid_to on promotions (account_id, valid_to);
    alter table promotions enable row level security, force row level security;
    create policy promotions_of_account on promotions
      using (account_id = (select nullif(current_setting('app.account', true), '')::bigint));
  `.execute(db)
}
