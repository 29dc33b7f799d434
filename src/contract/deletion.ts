import { type RawBuilder, sql } from 'kysely'
import type { Trx } from './pool.ts'
import { shareTable } from './table-lock.ts'

/** Rows of an account, and the column in whose order upserts lock them. */
type KeyedRows =
  | { table: 'sales'; account: number; key: 'transaction_id' }
  | { table: 'competitor_prices'; account: number; key: 'hash' }
  | { table: 'agreements'; account: number; key: 'key_hash' }

/** Deletes the rows that meet a condition, locking them in the order of upserts. Returns their number. */
export async function deleteInOrder(
  trx: Trx,
  { table, account, key }: KeyedRows,
  condition: RawBuilder<unknown>,
): Promise<number> {
  await shareTable(trx, table, account)
  const { numAffectedRows } = await sql`
    delete from ${sql.table(table)} where account_id = ${account} and id = any(array(
      select id from ${sql.table(table)} where account_id = ${account} and ${condition}
      order by ${sql.ref(key)} for update
    ))`.execute(trx)
  return Number(numAffectedRows)
}
