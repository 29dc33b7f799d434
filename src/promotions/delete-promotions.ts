import { sql } from 'kysely'
import { distinctKeys } from '../contract/duplicates.ts'
import { transaction } from '../contract/operation.ts'
import { arrayLiteral } from '../database/array-literal.ts'
import { keepPromotions } from './queries.ts'

/** Deletes promotions by name. Names that do not exist are counted as `absent`. */
export const deletePromotions = transaction<'deletePromotions'>(
  async (trx, { account, body, errors }) => {
    const names = await distinctKeys(body, errors)
    const which = sql<boolean>`name = any(${arrayLiteral(names)}::text[])`
    await keepPromotions(trx, account, which)
    const { numDeletedRows } = await trx
      .deleteFrom('promotions')
      .where('account_id', '=', account)
      .where(which)
      .executeTakeFirst()
    const deleted = Number(numDeletedRows)
    return { deleted, absent: names.length - deleted }
  },
)
