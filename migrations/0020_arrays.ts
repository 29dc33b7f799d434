import { type Kysely, sql } from 'kysely'

/**
 * The prices of a row are read whole or by place, and never searched: what ANALYZE would find out about them is of no use
 * and takes a third of its time. The ids of a job are written again with each chunk: to compress them takes longer.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table price_list_rows
      alter column prices set statistics 0,
      alter column dynamic_attributes set statistics 0`.execute(db)
  await sql`
    alter table jobs
      alter column product_ids set storage external,
      alter column row_ids set storage external`.execute(db)
}
