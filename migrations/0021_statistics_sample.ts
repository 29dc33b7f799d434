import { type Kysely, sql } from 'kysely'

/**
 * ANALYZE reads 300 pages for each of the entries that statistics may have, 30,000 by default: 210 ms of a table of a
 * million rows, for which a load waits. A load needs no more than the share of its list or account: 9,000 pages, 60 ms.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter function analyze_loaded(text, text, bigint, bigint) set default_statistics_target = 30`.execute(
    db,
  )
}
