import { sql } from 'kysely'
import { readNumbers } from '../../database/array-literal.ts'
import { onlyRow } from '../../database/only-row.ts'
import { utcTimestamp } from '../../lib/formats.ts'
import { changedCells } from '../../price-lists/history/changed-cells.ts'
import { isPublishedNow } from '../../price-lists/list-rows.ts'
import { ofList } from '../../price-lists/queries.ts'
import { noDay, type Observation } from '../write/stale-cells.ts'
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
  const { observed_at } = plan.call as Observation
  if (observed_at !== undefined) await confirmUnchanged(application, utcTimestamp(observed_at))
  const cells = sql`(
    select plan.code, plan.extension_key, plan.dimension, plan.date, plan.new as price
    from plan_rows plan where ${ofPlan(plan)} and plan.action = 'price' and ${isIncluded}
  ) as f`
  const {
    updated,
    written: { priced },
  } = await writeCells(trx, list, cells)
  const { ids: text } = await onlyRow<{ ids: string | null }>(trx)`
    select array_agg(row_id order by first)::text as ids from (
      select plan.row_id, min(coalesce(plan.position, plan.place)) as first from plan_rows plan
      where ${ofPlan(plan)} and ${isIncluded} and (plan.action = 'price' or plan.position is not null) group by plan.row_id
    ) as named`
  const ids = readNumbers(text)
  const counts = { rows: ids.length, created: 0, updated, skipped }
  return { priced, added: 0, removed: 0, skipped, result: ids, jobResult: counts }
}

/** Records the prices that the plan found unchanged as confirmed, as the planned call would have done. */
async function confirmUnchanged({ trx, list, plan }: Application, observedAt: string) {
  await sql`
    insert into confirmed_prices as present (account_id, price_list_id, row_id, dimension, date, observed_at, revision)
    select plan.account_id, ${list.id}::bigint, plan.row_id, plan.dimension, coalesce(plan.date, ${noDay}),
      ${observedAt}::timestamptz, ${list.version}::integer
    from plan_rows plan where ${ofPlan(plan)} and plan.reason = 'unchanged' and ${isIncluded}
    on conflict (account_id, price_list_id, row_id, dimension, date) do update set
      observed_at = greatest(present.observed_at, excluded.observed_at), revision = excluded.revision`.execute(
    trx,
  )
}

/**
 * SQL of the places of prices that have changed since the plan was made, or whose row has left since, even if it came
 * back. Prices that the plan found unchanged count, too; those that it changes also if they were confirmed by a later
 * observation than its own. Cells are grouped, not joined: the planner cannot know how many were changed.
 */
function staleCells({ list, plan }: Application) {
  const base = plan.base_revision ?? 0
  const later = changedCells(list, { after: base, until: list.version })
  const { observed_at } = plan.call as Observation
  const confirmed =
    observed_at === undefined
      ? sql``
      : sql`union all
        select row_id, dimension, nullif(date, ${noDay}), null, null, false, true from confirmed_prices
        where ${ofList(list)} and observed_at > ${utcTimestamp(observed_at)}::timestamptz and revision >= ${base}`
  return sql`
    select cell.place
    from (
      select row_id, max(place) as place, bool_or(is_changed) or bool_or(is_priced) and bool_or(is_confirmed) as is_changed
      from (
        select row_id, dimension, date, place, action = 'price' as is_priced, false as is_changed, false as is_confirmed
        from plan_rows plan where ${ofPlan(plan)} and (plan.action = 'price' or plan.reason = 'unchanged')
        union all
        select row_id, dimension, date, null, null, true, false from ${later}
        ${confirmed}
      ) as cell
      group by row_id, dimension, date
    ) as cell
    left join price_list_rows r on ${ofList(list, 'r')}
      and r.id = cell.row_id and ${isPublishedNow(list)}
    where cell.place is not null and (cell.is_changed or r.id is null or r.added_version > ${base})`
}
