import { type Kysely, sql } from 'kysely'

/** Keys are removed for all accounts by a job: one that a request removed was locked for as long as its file took. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create policy idempotency_keys_of_owner on idempotency_keys to current_user using (true)`.execute(
    db,
  )
  await sql`
    create function delete_expired_keys() returns bigint
      language sql security definer set search_path = pg_catalog, pg_temp
      as $$
        with deleted as (
          delete from public.idempotency_keys k using public.accounts a
          where k.account_id = a.id and k.created_at < now() - interval '24 hours' returning k.key
        )
        select count(*) from deleted
      $$`.execute(db)
  await sql`revoke execute on function delete_expired_keys() from public`.execute(db)
  await sql`grant execute on function delete_expired_keys() to pricewell_app`.execute(db)
}
