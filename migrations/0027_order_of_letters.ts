import { type Kysely, sql } from 'kysely'

/**
 * Columns were put in the order that the database's language has for their letters: in Lithuanian Y comes before J, in
 * Danish AA after Z.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table catalog_columns alter column letter type text collate "C", no force row level security`.execute(
    db,
  )
  // In two steps: a position is taken until its column has left it.
  await sql`update catalog_columns set position = -position`.execute(db)
  await sql`
    update catalog_columns as c set position = ordered.position
    from (
      select account_id, name,
        row_number() over (partition by account_id order by length(letter), letter) as position
      from catalog_columns
    ) as ordered
    where (c.account_id, c.name) = (ordered.account_id, ordered.name)`.execute(db)
  await sql`alter table catalog_columns force row level security`.execute(db)
}
