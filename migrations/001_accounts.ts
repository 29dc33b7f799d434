import { type Kysely, sql } from 'kysely'

/** Accounts (the tenants) and their users, and the rights of the role that the service runs as. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    grant usage on schema public to pricewell_app;
    alter default privileges in schema public grant select, insert, update, delete on tables to pricewell_app;

    create table accounts (
      -- Tokens name accounts by id. A sequence restored from a backup would give the id of a lost account again, and its
      -- tokens would open the new account. A random id is any integer that JSON holds exactly.
      id bigint not null default 1 + floor(random() * 9007199254740990)
        constraint accounts_pkey primary key,
      name text collate "C" not null constraint accounts_name_key unique,
      -- Changes with the account's columns, promotions and price lists: what a process has cached of them is valid as
      -- long as this number is the same.
      settings_version bigint not null default 0,
      created_at timestamptz not null default now()
    );
    alter table accounts enable row level security, force row level security;
    -- A subquery is run once for a statement; without it each row would read the setting again.
    create policy accounts_of_account on accounts
      using (id = (select nullif(current_setting('app.account', true), '')::bigint));
    -- The owner creates accounts; row-level security is forced on owners too.
    create policy accounts_of_owner on accounts to current_user using (true);

    create table users (
      account_id bigint not null constraint users_account_fkey references accounts (id) on delete cascade,
      id bigint generated always as identity,
      email text collate "C" not null constraint users_email_key unique,
      password_hash text not null,
      created_at timestamptz not null default now(),
      constraint users_pkey primary key (account_id, id)
    );
    alter table users enable row level security, force row level security;
    create policy users_of_account on users
      using (account_id = (select nullif(current_setting('app.account', true), '')::bigint));
    -- A login has an e-mail and no account yet: it sees the user with that e-mail only.
    create policy users_of_login on users for select
      using (email = nullif(current_setting('app.login', true), ''));
    create policy users_of_owner on users to current_user using (true);
  `.execute(db)
}
