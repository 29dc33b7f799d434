import { sql } from 'kysely'
import type { Handler } from '../contract/operation.ts'
import { pageOf, readPage } from '../contract/read-page.ts'
import { planOf, type StoredPlan, selectPlans, statusNow } from './queries.ts'

/** Returns a page of plans, ordered by id. */
export const listPlans: Handler<'listPlans'> = ({ account, query, inAccount }) =>
  inAccount(async (trx) => {
    const { offset, limit } = pageOf(query)
    const { status, price_list_id } = query
    const all = selectPlans(trx, account)
      .$if(status !== undefined, (plans) =>
        plans.where(sql<boolean>`(${statusNow}) = ${status ?? ''}`),
      )
      .$if(price_list_id !== undefined, (plans) =>
        plans.where('price_list_id', '=', price_list_id ?? 0),
      )
    const page = all.orderBy('id').offset(offset).limit(limit)
    const { count, rows } = await readPage(trx, { all, page })
    return { count, results: rows.map((row) => planOf(row as StoredPlan)) }
  })
