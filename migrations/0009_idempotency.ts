import { type Kysely, sql } from 'kysely'

/** Answers to requests with an Idempotency-Key, kept for 24 hours. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table idempotency_keys (
      account_id bigint not null,
      subject text collate "C" not null,
      key text collate "C" not null,
      path text collate "C" not null,
      body_hash bytea not null,
      headers jsonb not null,
      body text not null,
      created_at timestamptz not null default now(),
      constraint idempotency_keys_pkey primary key (account_id, subject, key)
    )`.execute(db)
  await sql`create index idempotency_keys_created_at on idempotency_keys (account_id, created_at)`.execute(
    db,
  )
  await sql`alter table idempotency_keys enable row level security, force row level security`.execute(
    db,
  )
  await sql`
    create policy idempotency_keys_of_account on idempotency_keys
      using (account_id = nullif(current_setting('app.account', true), '')::bigint)`.execute(db)
}
