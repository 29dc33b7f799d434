import { type Kysely, sql } from 'kysely'

/**
 * Jobs are kept for 7 days. Whoever removes them acts for all accounts, which row-level security allows to nobody but
 * the owner; the application role may do exactly this one thing in the owner's name.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create policy jobs_of_owner on jobs to current_user using (true)`.execute(db)
  await sql`
    create function delete_expired_jobs() returns bigint
      language sql security definer set search_path = pg_catalog, pg_temp
      as $$
        with deleted as (
          delete from public.jobs where finished_at < now() - interval '7 days' returning id
        )
        select count(*) from deleted
      $$`.execute(db)
  await sql`revoke execute on function delete_expired_jobs() from public`.execute(db)
  await sql`grant execute on function delete_expired_jobs() to pricewell_app`.execute(db)
}
