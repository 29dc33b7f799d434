import { type Kysely, sql } from 'kysely'

/**
 * Tokens name accounts by their ids. A sequence that an older state was restored of gave those of lost accounts again:
 * a lost account's token opened a newer one. Every whole number that JSON tells exactly may be an id.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table accounts
      alter column id drop identity,
      alter column id set default 1 + floor(random() * 9007199254740990)`.execute(db)
}
