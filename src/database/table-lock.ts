import { sql } from 'kysely'
import { AccountMissing } from './errors.ts'
import type { Trx } from './pool.ts'

/*
 * Two transactions that lock rows in different orders may deadlock. A statement that locks its rows in key order shares
 * the table with others of its kind. A transaction that writes rows as they come, in several statements, must have the
 * account's rows of the table to itself.
 *
 * These rows have no foreign key to their account, because it would be checked for each row. Instead, the statement
 * that takes the lock reads the account's row, so a distributed database takes the lock where the rows are.
 */

/**
 * Shares the account's rows of the table until the transaction ends. Waits for a transaction that has taken them.
 * Throws AccountMissing.
 */
export async function shareTable(trx: Trx, table: string, account: number): Promise<void> {
  const { rows } = await sql`
    select pg_advisory_xact_lock_shared(${lockOf(table, account)}) from accounts where id = ${account}`.execute(
    trx,
  )
  if (rows.length === 0) throw new AccountMissing()
}

/** Takes the account's rows of the table until the transaction ends. Waits for others that write to them. */
export async function takeTable(trx: Trx, table: string, account: number): Promise<void> {
  await sql`
    select pg_advisory_xact_lock(${lockOf(table, account)}) from accounts where id = ${account}`.execute(
    trx,
  )
}

/** Takes the account's rows of the table until the transaction ends. Returns false if others write to them. */
export async function tryTakeTable(trx: Trx, table: string, account: number): Promise<boolean> {
  const { rows } = await sql<{ taken: boolean }>`
    select pg_try_advisory_xact_lock(${lockOf(table, account)}) as taken from accounts where id = ${account}`.execute(
    trx,
  )
  return rows[0]?.taken ?? false
}

function lockOf(table: string, account: number) {
  return sql`hashtextextended(${`rows of ${table}`}, ${account})`
}
