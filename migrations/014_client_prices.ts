import { type Kysely, sql } from 'kysely'

/** What reads of a client's prices look up. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    -- The code that the price line names, empty without one. A column, because row-level security uses no index of a JSON
    -- expression.
    alter table agreements add column line_code text collate "C" not null
      generated always as (coalesce(price_line ->> 'code', price_line ->> 'product_code', '')) stored;
    create index agreements_line on agreements (account_id, client_code, price_list_code, line_code);
  `.execute(db)
}
