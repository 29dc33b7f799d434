import { type Kysely, sql } from 'kysely'

/** An index for each filter of the lists that had none, in the order of their pages. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create index competitor_prices_name on competitor_prices (account_id, competitor_name, id)`.execute(
    db,
  )
  await sql`create index agreements_price_list on agreements (account_id, price_list_code, id)`.execute(
    db,
  )
  await sql`create index agreements_name on agreements (account_id, name, id)`.execute(db)
}
