import { type Kysely, sql } from 'kysely'

/** Accounts (the tenants) and their users, for the role that the service runs as. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`grant usage on schema public to pricewell_app`.execute(db)
  await sql`alter default privileges in schema public grant select, insert, update, delete on tables to pricewell_app`.execute(
    db,
  )

  await sql`
    create table accounts (
      id bigint generated always as identity constraint accounts_pkey primary key,
      name text collate "C" not null constraint accounts_name_key unique,
      created_at timestamptz not null default now()
    )`.execute(db)
  await sql`alter table accounts enable row level security, force row level security`.execute(db)
  await sql`
    create policy accounts_of_account on accounts
      using (id = nullif(current_setting('app.account', true), '')::bigint)`.execute(db)

  await sql`
    create table users (
      account_id bigint not null constraint users_account_fkey references accounts (id) on delete cascade,
      id bigint generated always as identity,
      email text collate "C" not null constraint users_email_key unique,
      password_hash text not null,
      created_at timestamptz not null default now(),
      constraint users_pkey primary key (account_id, id)
    )`.execute(db)
  await sql`alter table users enable row level security, force row level security`.execute(db)
  await sql`
    create policy users_of_account on users
      using (account_id = nullif(current_setting('app.account', true), '')::bigint)`.execute(db)
  // A login knows an e-mail and no account yet: it sees the one user it names.
  await sql`
    create policy users_of_login on users for select
      using (email = nullif(current_setting('app.login', true), ''))`.execute(db)
  // Whoever owns the tables creates accounts; row-level security is forced on owners too.
  for (const table of ['accounts', 'users']) {
    await sql`create policy ${sql.ref(`${table}_of_owner`)} on ${sql.table(table)} to current_user using (true)`.execute(
      db,
    )
  }
}
