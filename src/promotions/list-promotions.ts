import { sql } from 'kysely'
import { containsText } from '../contract/contains-text.ts'
import type { Export } from '../contract/export.ts'
import { columnKeys, orderBy, orderKeys, readOrderedPage } from '../contract/list-order.ts'
import type { Handler, OperationRequest, Schemas } from '../contract/operation.ts'
import { onPage, withoutAbsent } from '../contract/read-page.ts'
import { invalidRequest } from '../contract/row-errors.ts'
import type { Trx } from '../database/pool.ts'
import { utcTimestamp } from '../lib/formats.ts'
import { isValidOn, promotionsAsOf, termNames } from './queries.ts'

/** Returns a page of promotions, by id or in the requested order. */
export const listPromotions: Handler<'listPromotions'> = ({ account, query, inAccount }) =>
  inAccount(async (trx) => {
    await rejectAhead(trx, query)
    const present = promotionsOf(trx, account, query)
    const ordered = {
      rows: sql`(${filtered(trx, account, query).select(keyColumns)})`,
      rowOf: (id: number) => sql`(${present.where('id', '=', id).select(keyColumns)})`,
      keys: orderKeys(query.order, orders),
    }
    const page = present.where('id', '=', onPage).select(fields)
    const { count, rows } = await readOrderedPage(trx, ordered, query, page)
    return { count, results: rows.map(withoutAbsent) as Schemas['Promotion'][] }
  })

/** Exports all promotions that match the filters, in the order of the list. */
export const exportPromotions: Export<'listPromotions'> = async (trx, { account, query }) => {
  await rejectAhead(trx, query)
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

/** Throws `invalid-request` if `as_of` lies in the future. */
async function rejectAhead(trx: Trx, { as_of }: Query): Promise<void> {
  if (as_of === undefined) return
  const { rows } = await sql<{ is_ahead: boolean }>`
    select ${utcTimestamp(as_of)}::timestamptz > clock_timestamp() as is_ahead`.execute(trx)
  if (rows[0]?.is_ahead)
    throw invalidRequest([{ pointer: '/query/as_of', code: 'range', message: 'must not be ahead' }])
}

/** The promotions as they are now, or as of a moment. */
function promotionsOf(trx: Trx, account: number, { as_of }: Query) {
  const moment = as_of === undefined ? undefined : utcTimestamp(as_of)
  return trx.selectFrom(promotionsAsOf(account, moment)).where('account_id', '=', account)
}
