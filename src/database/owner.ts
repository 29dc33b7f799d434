import { type Kysely, sql } from 'kysely'

/** Of one process after the other: two that grant the same at the same time fail. */
const lock = 0x6f776e72

/** What the owner of the tables sees of all accounts, to create them and to count, note and remove what is theirs. */
const tablesOfAll = ['accounts', 'users', 'jobs', 'idempotency_keys']

/** Makes the role that the service runs as, if there is none, and lets the user of the database act as it. */
export async function ensureApplicationRole(db: Kysely<unknown>): Promise<void> {
  await inTurn(db, async (trx) => {
    await sql`
      do $$ begin
        if current_user = 'pricewell_app' then
          raise exception 'the database user is pricewell_app, the role of requests, which see the rows of their account only: let DATABASE_URL name another user, who owns the tables';
        end if;
        if not exists (select from pg_roles where rolname = 'pricewell_app') then
          create role pricewell_app nologin;
        end if;
      exception
        when duplicate_object or unique_violation then null;
        when insufficient_privilege then
          raise exception 'the database user may not create roles: let a superuser run "create role pricewell_app nologin; grant pricewell_app to %"', quote_ident(current_user);
      end $$`.execute(trx)
    // Whoever creates a role since PostgreSQL 16 administers it, and is no member that may act as it.
    await sql`
      do $$ begin
        if not pg_has_role(current_user, 'pricewell_app',
          case when current_setting('server_version_num')::integer < 160000 then 'member' else 'set' end) then
          execute format('grant pricewell_app to %I', current_user);
        end if;
      exception when insufficient_privilege then
        raise exception 'another user created the role pricewell_app: let a superuser run "grant pricewell_app to %"', quote_ident(current_user);
      end $$`.execute(trx)
  })
}

/** Rows are staged in temporary tables, which a database may keep from all but its owner. */
async function grantTemporary(trx: Kysely<unknown>): Promise<void> {
  await sql`
    do $$ begin
      if not has_database_privilege('pricewell_app', current_database(), 'temporary') then
        execute format('grant temporary on database %I to pricewell_app', current_database());
        -- Whoever may not has an error, or only a warning.
        if not has_database_privilege('pricewell_app', current_database(), 'temporary') then
          raise insufficient_privilege;
        end if;
      end if;
    exception when insufficient_privilege then
      raise exception 'the role pricewell_app may not create temporary tables: let the owner of the database run "grant temporary on database % to pricewell_app"', quote_ident(current_database());
    end $$`.execute(trx)
}

/**
 * Gives the owner of the tables what the migrations gave to the user who ran them. A dump may be restored for another
 * one (`pg_restore --no-owner`): no account could be created then, changed promotions would not be noticed, and nothing
 * that has expired would go.
 */
export async function ensureOwner(db: Kysely<unknown>): Promise<void> {
  await inTurn(db, async (trx) => {
    await sql`
      do $$
      declare place record;
      begin
        for place in
          select relname as name, relname || '_of_owner' as policy, pg_get_userbyid(relowner) as owner
          from pg_class c
          where relnamespace = 'public'::regnamespace and relname = any(${sql.lit(`{${tablesOfAll}}`)})
            and not exists (
              select from pg_policy
              where polrelid = c.oid and polname = relname || '_of_owner' and polroles = array[relowner])
        loop
          execute format('drop policy if exists %I on public.%I', place.policy, place.name);
          execute format('create policy %I on public.%I to %I using (true)', place.policy, place.name, place.owner);
        end loop;
      end $$`.execute(trx)
    await sql`alter default privileges in schema public grant select, insert, update, delete on tables to pricewell_app`.execute(
      trx,
    )
    await grantTemporary(trx)
  })
}

async function inTurn(
  db: Kysely<unknown>,
  work: (trx: Kysely<unknown>) => Promise<void>,
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await sql`select pg_advisory_xact_lock(${lock})`.execute(trx)
    await work(trx)
  })
}
