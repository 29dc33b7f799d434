import type { Kysely } from 'kysely'

/** What the query of a call said that had a job load its file, beside the price list. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('jobs').addColumn('query', 'jsonb').execute()
}
