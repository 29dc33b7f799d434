import { type Kysely, sql } from 'kysely'

/** Background jobs as clients see them (their queue is pg-boss's), the files that they load, and idempotency keys. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table jobs (
      account_id bigint not null constraint jobs_account_fkey references accounts (id) on delete cascade,
      id bigint generated always as identity,
      price_list_id bigint,
      kind text not null
        constraint jobs_kind_check check (kind in ('add-products', 'sync-with-catalog', 'load-file')),
      status text not null default 'progress'
        constraint jobs_status_check check (status in ('progress', 'done', 'failed', 'cancelled')),
      total integer not null,
      finished integer not null default 0,
      error integer not null default 0,
      -- Fences: a worker that was paused past its lease finds a newer attempt and commits nothing.
      attempt integer not null default -1,
      -- Failures by the job's own fault. Attempts also count killed workers, deploys and a database that was away.
      faults integer not null default 0,
      product_ids bigint[],
      -- Noted with each chunk, so that the publication has nothing to look up.
      row_ids bigint[],
      result json,
      errors jsonb not null default '[]',
      -- Of a job that loads a file: what the call was.
      operation text collate "C",
      media_type text collate "C",
      query jsonb,
      file_id uuid,
      -- In its queue (start-time fair queueing): the account's next job starts after it.
      virtual_start integer,
      created_at timestamptz not null default now(),
      finished_at timestamptz,
      constraint jobs_pkey primary key (account_id, id),
      constraint jobs_file_key unique (account_id, file_id),
      constraint jobs_price_list_check check (price_list_id is not null or kind = 'load-file')
    ) with (fillfactor = 50);
    -- Long, read once or twice, and rewritten with each chunk: compression costs more than the space.
    alter table jobs
      alter column product_ids set storage external,
      alter column row_ids set storage external,
      alter column result set storage external;
    create index jobs_unfinished on jobs (account_id, price_list_id, id) where status = 'progress';
    alter table jobs enable row level security, force row level security;
    create policy jobs_of_account on jobs
      using (account_id = (select nullif(current_setting('app.account', true), '')::bigint));
    create policy jobs_of_owner on jobs to current_user using (true);

    -- The bytes of a file until its job ends, in compressed pieces. They are written before the job, which gets its id, and
    -- so its place in the list order, when the file is whole: the reference is checked at the commit.
    create table file_pieces (
      account_id bigint not null,
      file_id uuid not null,
      number integer not null,
      bytes bytea not null,
      constraint file_pieces_pkey primary key (account_id, file_id, number),
      constraint file_pieces_file_fkey foreign key (account_id, file_id)
        references jobs (account_id, file_id) on delete cascade deferrable initially deferred
    );
    -- Compressed already.
    alter table file_pieces alter column bytes set storage external;
    alter table file_pieces enable row level security, force row level security;
    create policy file_pieces_of_account on file_pieces
      using (account_id = (select nullif(current_setting('app.account', true), '')::bigint));

    -- The answers to requests with an Idempotency-Key, kept for 24 hours.
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
    );
    create index idempotency_keys_created_at on idempotency_keys (account_id, created_at);
    alter table idempotency_keys enable row level security, force row level security;
    create policy idempotency_keys_of_account on idempotency_keys
      using (account_id = (select nullif(current_setting('app.account', true), '')::bigint));
    create policy idempotency_keys_of_owner on idempotency_keys to current_user using (true);
  `.execute(db)

  // Over all accounts, which row-level security allows to the owner only: the role of the service may do exactly these
  // three things in the owner's name. Keys are removed here and not by requests, whose transaction, as long as a file
  // takes, would lock them.
  await sql`
    create function unfinished_jobs() returns table (state text, jobs bigint, oldest_seconds double precision)
      language sql stable security definer set search_path = pg_catalog, pg_temp
      as $$
        select s.state, count(j.id),
          coalesce(extract(epoch from now() - min(j.created_at)), 0)::double precision
        from (values ('waiting'), ('running')) s (state)
        left join public.jobs j on j.status = 'progress'
          and (case when j.attempt < 0 then 'waiting' else 'running' end) = s.state
        group by s.state
      $$;
    revoke execute on function unfinished_jobs() from public;
    grant execute on function unfinished_jobs() to pricewell_app;

    create function delete_expired_jobs() returns bigint
      language sql security definer set search_path = pg_catalog, pg_temp
      as $$
        with deleted as (
          delete from public.jobs where finished_at < now() - interval '7 days' returning id
        )
        select count(*) from deleted
      $$;
    revoke execute on function delete_expired_jobs() from public;
    grant execute on function delete_expired_jobs() to pricewell_app;

    create function delete_expired_keys() returns bigint
      language sql security definer set search_path = pg_catalog, pg_temp
      as $$
        with deleted as (
          delete from public.idempotency_keys k using public.accounts a
          where k.account_id = a.id and k.created_at < now() - interval '24 hours' returning k.key
        )
        select count(*) from deleted
      $$;
    revoke execute on function delete_expired_keys() from public;
    grant execute on function delete_expired_keys() to pricewell_app;
  `.execute(db)
}
