import { sql } from 'kysely'
import { transaction } from '../contract/operation.ts'
import { readPage } from '../contract/read-page.ts'
import { planOf, type StoredPlan, selectPlans, statusNow } from './queries.ts'

/** Returns a page of plans, ordered by id. */
export const listPlans = transaction<'listPlans'>(async (trx, { account, query }) => {
  const { status, price_list_id } = query
  const plans = selectPlans(trx, account)
    .$if(status !== undefined, (all) =>
      all.where(sql<boolean>`(${statusNow(account)}) = ${status ?? ''}`),
    )
    .$if(price_list_id !== undefined, (all) => all.where('price_list_id', '=', price_list_id ?? 0))
  const { count, rows } = await readPage(trx, { all: plans, rows: plans, query })
  return { count, results: rows.map((row) => planOf(row as StoredPlan)) }
})
