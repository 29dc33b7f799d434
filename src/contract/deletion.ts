import { type RawBuilder, sql } from 'kysely'
import { arrayLiteral } from '../database/array-literal.ts'
import { shareTable } from '../database/table-lock.ts'
import { distinctKeys } from './duplicates.ts'
import type { OperationRequest } from './operation.ts'

/** A table, and the column in whose order upserts lock its rows. */
type Deleted =
  | { table: 'sales'; lockedBy: 'transaction_id' }
  | { table: 'competitor_prices'; lockedBy: 'hash' }
  | { table: 'agreements'; lockedBy: 'key_hash' }

type Request = OperationRequest<'deleteSales' | 'deleteCompetitorPrices' | 'deleteAgreements'>

/**
 * The handler that deletes rows by key. Its answer counts the deleted and the absent keys. `which` is the SQL condition
 * on an array of keys, as text.
 */
export function deletion(
  { table, lockedBy }: Deleted,
  which: (keys: string) => RawBuilder<unknown>,
) {
  return ({ account, body, errors, inAccount }: Request) =>
    inAccount(async (trx) => {
      const keys = await distinctKeys<string | number>(body, errors)
      await shareTable(trx, table, account)
      const { numAffectedRows } = await sql`
        delete from ${sql.table(table)} where account_id = ${account} and id = any(array(
          select id from ${sql.table(table)} where account_id = ${account} and ${which(arrayLiteral(keys))}
          order by ${sql.ref(lockedBy)} for update
        ))`.execute(trx)
      const deleted = Number(numAffectedRows)
      return { deleted, absent: keys.length - deleted }
    })
}
