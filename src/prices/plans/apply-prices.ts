import { sql } from 'kysely'
import { readNumbers } from '../../database/array-literal.ts'
import { changedCells } from '../../price-lists/history/changed-cells.ts'
import { isPublishedNow } from '../../price-lists/list-rows.ts'
import { writeCells } from '../write/write-cells.ts'
import {
  type Application,
  type Applied,
  isIncluded,
  leaveStaleOut,
  leaveViolatingOut,
  ofPlan,
} from './application.ts'

/** Sets the prices of a plan. Returns the ids of its rows in the order of the planned call, each once. */
export async function applyPrices(application: Application): Promise<Applied> {
  const { trx, list, plan } = application
  const skipped =
    (await leaveStaleOut(application, staleCells(application))) +
    (await leaveViolatingOut(application))
  const cells = sql`(
    select plan.code, plan.extension_key, plan.dimension, plan.date, plan.new as price
    from plan_rows plan where ${ofPlan(plan)} and plan.action = 'price' and ${isIncluded}
  ) as f`
  const {
    updated,
    written: { priced },
  } = await writeCells(trx, list, cells)
  const { rows } = await sql<{ ids: string | null }>`
    select array_agg(row_id order by first)::text as ids from (
      select plan.row_id, min(coalesce(plan.position, plan.place)) as first from plan_rows plan
      where ${ofPlan(plan)} and ${isIncluded} and (plan.action = 'price' or plan.position is not null) group by plan.row_id
    ) as named`.execute(trx)
  const ids = readNumbers(rows[0]?.ids ?? null)
  const counts = { rows: ids.length, created: 0, updated, skipped }
  return { priced, added: 0, removed: 0, skipped, result: ids, jobResult: counts }
}

/**
 * SQL of the places of prices that have changed since the plan was made, or whose row has left since, even if it came
 * back. Prices that the plan found unchanged count, too. Cells are grouped, not joined: the planner cannot know how
 * many were changed.
 */
function staleCells({ list, plan }: Application) {
  const base = plan.base_revision ?? 0
  const later = changedCells(list, { after: base, until: list.version })
  return sql`
    select cell.place
    from (
      select row_id, max(place) as place, bool_or(is_changed) as is_changed
      from (
        select row_id, dimension, date, place, false as is_changed from plan_rows plan
        where ${ofPlan(plan)} and (plan.action = 'price' or plan.reason = 'unchanged')
        union all
        select row_id, dimension, date, null, true from ${later}
      ) as cell
      group by row_id, dimension, date
    ) as cell
    left join price_list_rows r on r.account_id = ${list.account_id} and r.price_list_id = ${list.id}
      and r.id = cell.row_id and ${isPublishedNow(list)}
    where cell.place is not null and (cell.is_changed or r.id is null or r.added_version > ${base})`
}
