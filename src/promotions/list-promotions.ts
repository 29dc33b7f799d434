import { sql } from 'kysely'
import { containsText } from '../contract/contains-text.ts'
import type { Export } from '../contract/export.ts'
import { columnKeys, orderBy, orderKeys, readOrderedPage } from '../contract/list-order.ts'
import {
  type Context,
  type OperationRequest,
  type Schemas,
  transaction,
} from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import { onPage, withoutAbsent } from '../contract/read-page.ts'
import { invalidRequest } from '../contract/row-errors.ts'
import { onlyRow } from '../database/only-row.ts'
import type { Trx } from '../database/pool.ts'
import { utcTimestamp } from '../lib/formats.ts'
import { isValidOn, promotionsAsOf, termNames } from './queries.ts'

/** Returns a page of promotions, by id or in the requested order. */
export const listPromotions = transaction<'listPromotions'>(
  async (trx, { account, query }, context) => {
    await rejectUnknown(trx, account, query, context)
    const present = promotionsOf(trx, account, query)
    const ordered = {
      rows: sql`(${filtered(trx, account, query).select(keyColumns)})`,
      rowOf: (id: number) => sql`(${present.where('id', '=', id).select(keyColumns)})`,
      keys: orderKeys(query.order, orders),
    }
    const page = present.where('id', '=', onPage).select(fields)
    const { count, rows } = await readOrderedPage(trx, ordered, query, page)
    return { count, results: rows.map(withoutAbsent) as Schemas['Promotion'][] }
  },
)

/** Exports all promotions that match the filters, in the order of the list. */
export const exportPromotions: Export<'listPromotions'> = async (
  trx,
  { account, query },
  context,
) => {
  await rejectUnknown(trx, account, query, context)
  return {
    columns: fields,
    query: trx
      .selectFrom(filtered(trx, account, query).selectAll().as('listed'))
      .select(fields)
      .orderBy(orderBy(orderKeys(query.order, orders))),
    rowsOf: (promotion: object) => [withoutAbsent(promotion)],
  }
}

const fields = ['id', ...termNames] as const

type Query = OperationRequest<'listPromotions'>['query']

/** The id and the columns that `order` may name. */
const keyColumns = ['id', 'name', 'value', 'valid_from', 'valid_to'] as const

const orders = columnKeys(['name', 'value', 'valid_from', 'valid_to'])

function filtered(trx: Trx, account: number, query: Query) {
  const { name, kind, valid_on, contains } = query
  return promotionsOf(trx, account, query)
    .$if(name !== undefined, (all) => all.where('name', '=', name ?? ''))
    .$if(kind !== undefined, (all) => all.where('kind', '=', kind ?? ''))
    .$if(valid_on !== undefined, (all) => all.where(isValidOn(valid_on ?? '')))
    .$if(contains !== undefined, (all) =>
      all.where(containsText([sql.ref('name')], contains ?? '')),
    )
}

/**
 * Throws `invalid-request` if `as_of` lies in the future, `history-not-kept` if versions of promotions that were then in
 * force may be deleted.
 */
async function rejectUnknown(
  trx: Trx,
  account: number,
  { as_of }: Query,
  { historyDays }: Context,
): Promise<void> {
  if (as_of === undefined) return
  const at = sql`${utcTimestamp(as_of)}::timestamptz`
  const { isAhead, isKept, oldest } = await onlyRow<{
    isAhead: boolean
    isKept: boolean
    oldest: Date
  }>(trx)`
    select ${at} > clock_timestamp() as "isAhead", oldest,
      ${at} >= oldest or ${at} < (select created_at from accounts where id = ${account}) as "isKept"
    from (select now() - make_interval(days => ${historyDays}) as oldest) as history`
  if (isAhead)
    throw invalidRequest([{ pointer: '/query/as_of', code: 'range', message: 'must not be ahead' }])
  if (isKept !== false) return
  const begins = oldest?.toISOString() ?? ''
  throw new Problem('history-not-kept', `The history of promotions begins at ${begins}.`, {
    oldest: begins,
  })
}

/** The promotions as they are now, or as of a moment. */
function promotionsOf(trx: Trx, account: number, { as_of }: Query) {
  const moment = as_of === undefined ? undefined : utcTimestamp(as_of)
  return trx.selectFrom(promotionsAsOf(account, moment)).where('account_id', '=', account)
}
