import { promises as fs } from 'node:fs'
import path from 'node:path'
import { Kysely, PostgresDialect, sql } from 'kysely'
import { FileMigrationProvider, Migrator } from 'kysely/migration'
import pg from 'pg'
import { connectionTimeoutMillis, prepareConnection } from './connection-setup.ts'
import { StartupError } from './errors.ts'

const migrationFolder = path.resolve(import.meta.dirname, '../../migrations')

/** A process that is paused in a migration loses its locks after this time. */
const pausedMs = 60_000

/**
 * Migrates the database of `url`, whose user owns the tables. Processes may do so concurrently. Throws StartupError.
 */
export async function migrate(url: string): Promise<void> {
  const pool = new pg.Pool({
    connectionString: url,
    max: 2,
    connectionTimeoutMillis,
    idle_in_transaction_session_timeout: pausedMs,
    onConnect: prepareConnection,
  })
  pool.on('error', () => undefined)
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
  try {
    await rejectOtherEncodings(db)
    await ensureApplicationRole(db)
    const provider = new FileMigrationProvider({ fs, path, migrationFolder })
    const { error } = await new Migrator({ db, provider }).migrateToLatest()
    if (error) throw unknownMigration(error) ?? error
    await ensureOwner(db)
  } finally {
    await db.destroy()
  }
}

/** Texts are Unicode, and other encodings lack most of its characters. */
async function rejectOtherEncodings(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ encoding: string }>`
    select current_setting('server_encoding') as encoding`.execute(db)
  const encoding = rows[0]?.encoding
  if (encoding === 'UTF8') return
  throw new StartupError(
    `the encoding of the database is ${encoding}: let DATABASE_URL lead to one that was created with "create database <name> encoding 'UTF8' template template0"`,
  )
}

/** The error for a database that a newer version, or another program using Kysely, has migrated. */
function unknownMigration(error: unknown): StartupError | undefined {
  const { message } = error as Error
  const [, name] = /^corrupted migrations: .* (\S+) is missing$/.exec(message) ?? []
  if (name === undefined) return undefined
  return new StartupError(
    `the database has the migration ${name}, which this version does not know: start the version that was last used with it, restore the backup from before the upgrade, or use another database`,
  )
}

/** Processes that grant the same right at the same time fail, so they take turns. */
const lock = 0x6f776e72

/** Tables in which the owner sees the rows of all accounts: to create accounts, count jobs and remove expired rows. */
const tablesOfAll = [
  'account_names',
  'accounts',
  'calendar_changes',
  'calendar_months',
  'confirmed_prices',
  'idempotency_keys',
  'jobs',
  'list_changes',
  'list_revisions',
  'plan_rows',
  'plans',
  'price_list_rows',
  'price_lists',
  'promotion_versions',
  'removed_rows',
  'users',
]

/** Creates the service's role if it does not exist, and lets the database user act as it. */
async function ensureApplicationRole(db: Kysely<unknown>): Promise<void> {
  await inOrder(db, async (trx) => {
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
    // Since PostgreSQL 16 the user that creates a role administers it, but may not act as it.
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

/** Rows are staged in temporary tables, which a database may allow only to its owner. */
async function grantTemporary(trx: Kysely<unknown>): Promise<void> {
  await sql`
    do $$ begin
      if not has_database_privilege('pricewell_app', current_database(), 'temporary') then
        execute format('grant temporary on database %I to pricewell_app', current_database());
        -- Without the right to grant, PostgreSQL raises an error or only a warning.
        if not has_database_privilege('pricewell_app', current_database(), 'temporary') then
          raise insufficient_privilege;
        end if;
      end if;
    exception when insufficient_privilege then
      raise exception 'the role pricewell_app may not create temporary tables: let the owner of the database run "grant temporary on database % to pricewell_app"', quote_ident(current_database());
    end $$`.execute(trx)
}

/**
 * Gives the owner of the tables, and the service's role, the rights that the migrations gave for the user who ran them.
 * A dump may be restored for another owner (`pg_restore --no-owner`), who could not create accounts or remove expired
 * rows, and whose later migrations would make tables that the role may not use.
 */
async function ensureOwner(db: Kysely<unknown>): Promise<void> {
  await inOrder(db, async (trx) => {
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
    await sql`
      do $$
      declare missed name;
      begin
        if not exists (
          select from pg_default_acl
          where pg_get_userbyid(defaclrole) = current_user and defaclnamespace = 'public'::regnamespace
            and defaclobjtype = 'r' and array_to_string(defaclacl, ',') like '%pricewell_app=arwd/%'
        ) then
          -- A cluster changes its nodes, too, which fails while one is down.
          alter default privileges in schema public grant select, insert, update, delete on tables to pricewell_app;
          alter default privileges in schema public grant usage on sequences to pricewell_app;
          for missed in
            select relname from pg_class where relnamespace = 'public'::regnamespace and relrowsecurity
          loop
            execute format('grant select, insert, update, delete on public.%I to pricewell_app', missed);
          end loop;
        end if;
      end $$`.execute(trx)
    await grantTemporary(trx)
  })
}

async function inOrder(
  db: Kysely<unknown>,
  work: (trx: Kysely<unknown>) => Promise<void>,
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await sql`select pg_advisory_xact_lock(${lock})`.execute(trx)
    await work(trx)
  })
}
