import { type Kysely, sql } from 'kysely'

/** Settings of a list that can be changed: its currency, whether unpriced cells are read, and limits for its prices. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table price_lists
      add column currency text collate "C",
      add column hide_unpriced boolean not null default false,
      -- As the contract has them; what is not there is no limit.
      add column guardrails jsonb not null default '{}'`.execute(db)
}
