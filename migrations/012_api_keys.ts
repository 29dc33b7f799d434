import { type Kysely, sql } from 'kysely'

/** Keys for programs. The key itself is a signed token, which is not kept. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table api_keys (
      account_id bigint not null,
      id bigint generated always as identity,
      name text collate "C" not null,
      scopes text[] not null,
      created_at timestamptz not null default now(),
      expires_at timestamptz not null,
      last_used_on date,
      revoked_at timestamptz,
      constraint api_keys_pkey primary key (account_id, id)
    );
    alter table api_keys enable row level security, force row level security;
    create policy api_keys_of_account on api_keys
      using (account_id = (select nullif(current_setting('app.account', true), '')::bigint));
  `.execute(db)
}
