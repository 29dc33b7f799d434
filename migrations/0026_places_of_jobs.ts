import type { Kysely } from 'kysely'

/** Where a job came in its queue: the next one of its account comes after it, also when it has ended already. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('jobs').addColumn('place', 'integer').execute()
}
