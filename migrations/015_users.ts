import { type Kysely, sql } from 'kysely'

/** What a login may do. Those who were there before may do all, as the users of `account create` do. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table users add column scopes text[] not null default '{read,plan,write,override,admin}';
    alter table users alter column scopes drop default;

    -- E-mails compare in lower case. Of two that differ in case only the older one logs in; the other keeps its spelling.
    update users u set email = lower(u.email collate "default")
    where u.email <> lower(u.email collate "default") and not exists (
      select from users o
      where lower(o.email collate "default") = lower(u.email collate "default")
        and (o.email = lower(u.email collate "default") or o.id < u.id)
    );
  `.execute(db)
}
