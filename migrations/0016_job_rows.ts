import { type Kysely, sql } from 'kysely'

/**
 * A job that adds products notes the ids of their rows with each chunk, so that the publication has nothing to look up.
 * What a job keeps is long and read once or twice: compressing it costs more than its space.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table jobs add column row_ids bigint[]`.execute(db)
  for (const column of ['product_ids', 'row_ids', 'result'])
    await sql`alter table jobs alter column ${sql.ref(column)} set storage external`.execute(db)
}
