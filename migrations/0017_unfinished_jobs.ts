import { type Kysely, sql } from 'kysely'

/**
 * How many jobs have not ended and how old the oldest is, over all accounts: for the operator's metrics. Row-level
 * security shows that to nobody but the owner; the application role may learn these numbers and no more.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function unfinished_jobs()
      returns table (state text, jobs bigint, oldest_seconds double precision)
      language sql stable security definer set search_path = pg_catalog, pg_temp
      as $$
        select s.state, count(j.id),
          coalesce(extract(epoch from now() - min(j.created_at)), 0)::double precision
        from (values ('waiting'), ('running')) s (state)
        left join public.jobs j on j.status = 'progress'
          and (case when j.attempt < 0 then 'waiting' else 'running' end) = s.state
        group by s.state
      $$`.execute(db)
  await sql`revoke execute on function unfinished_jobs() from public`.execute(db)
  await sql`grant execute on function unfinished_jobs() to pricewell_app`.execute(db)
}
