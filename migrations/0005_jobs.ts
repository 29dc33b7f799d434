import { type Kysely, sql } from 'kysely'

/**
 * Background jobs as their clients see them; the queue itself is pg-boss's. `attempt` fences: a worker that was paused
 * past its lease finds a newer attempt and commits nothing.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table jobs (
      account_id bigint not null constraint jobs_account_fkey references accounts (id) on delete cascade,
      id bigint generated always as identity,
      price_list_id bigint not null,
      kind text not null constraint jobs_kind_check check (kind in ('add-products', 'sync-with-catalog')),
      status text not null default 'progress'
        constraint jobs_status_check check (status in ('progress', 'done', 'failed', 'cancelled')),
      total integer not null,
      finished integer not null default 0,
      error integer not null default 0,
      attempt integer not null default -1,
      product_ids bigint[],
      result json,
      errors jsonb not null default '[]',
      created_at timestamptz not null default now(),
      finished_at timestamptz,
      constraint jobs_pkey primary key (account_id, id)
    ) with (fillfactor = 50)`.execute(db)
  await sql`create index jobs_unfinished on jobs (account_id, price_list_id, id) where status = 'progress'`.execute(
    db,
  )
  await sql`alter table jobs enable row level security, force row level security`.execute(db)
  await sql`
    create policy jobs_of_account on jobs
      using (account_id = nullif(current_setting('app.account', true), '')::bigint)`.execute(db)
}
