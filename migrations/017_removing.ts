import { type Kysely, sql } from 'kysely'

/** Jobs that remove products from a list. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table jobs drop constraint jobs_kind_check;
    alter table jobs add constraint jobs_kind_check check (kind in
      ('add-products', 'remove-products', 'sync-with-catalog', 'load-file', 'revert', 'make-plan', 'apply-plan'));
  `.execute(db)
}
