import { type RawBuilder, sql } from 'kysely'
import { findColumns, keyOrder } from '../../catalog/columns.ts'
import type { Answer, Schemas } from '../../contract/operation.ts'
import { onlyRow } from '../../database/only-row.ts'
import { analyzeLoaded, useLargeMemory } from '../../database/planner.ts'
import type { Trx } from '../../database/pool.ts'
import { quotient } from '../../database/quotient.ts'
import { answerPlan, insertPlan, type NewPlan } from '../../plans/queries.ts'
import { guardrailsOf, listViolations, violationsOf } from '../../price-lists/guardrails.ts'
import { changePercent, unroundedPercent } from '../../price-lists/history/diff-price-list.ts'
import { withMargins } from '../../price-lists/margin-sql.ts'
import type { PriceList } from '../../price-lists/queries.ts'

/** SQL of the columns that a plan takes from list row `r`. */
export const keyOfRow = sql`r.id as row_id, r.product_id, r.code, r.extensions, r.extension_key`

/** A plan of a locked list. */
interface ListPlan extends Omit<NewPlan, 'list'> {
  list: PriceList
  /** The list's row count, for a plan that stores only the rows it adds or removes. */
  rowsOfList?: number
}

/** Makes a plan for a list. `rows` is a SELECT as described at `storeRows`. */
export async function makePlan(
  trx: Trx,
  plan: ListPlan,
  rows: RawBuilder<unknown>,
): Promise<Answer<Schemas['Plan']>> {
  const { list } = plan
  const { operation, origin, call } = plan
  const made = { operation, list, origin, ...(call && { call }) }
  const planId = await insertPlan(trx, list.account_id, made)
  const summary = await storeRows(trx, planId, plan, rows)
  await analyzeLoaded(trx, { table: 'plan_rows', owner: planId, rows: summary.rows ?? 0 })
  const violations = await countViolations(trx, planId, list, summary.removed ?? 0)
  return answerPlan(trx, list.account_id, planId, { summary, violations })
}

/**
 * Stores a plan's rows, and returns their summary. `rows` is a SELECT of position, row_id, product_id, code,
 * extensions, extension_key and action; for cells, whose action is null and follows from the prices, also of dimension,
 * date, costs, old, new, inputs and reason (why there is no new price).
 */
async function storeRows(
  trx: Trx,
  planId: number,
  { list, operation, rowsOfList }: ListPlan,
  rows: RawBuilder<unknown>,
): Promise<Schemas['PlanSummary']> {
  await useLargeMemory(trx)
  const columns = await findColumns(trx, list.account_id)
  const given = sql`(${rows}) as cell`
  const isPriced = sql`(reason is null and new is distinct from old)`
  const isUnchanged = sql`(action = 'none' or action is null and new is not distinct from old)`
  const price = { old: sql`old`, new: sql`new`, margin: sql`margin_after` }
  const { rows: totals } = await sql<{ summary: Schemas['PlanSummary'] }>`
    with stored as (
      insert into plan_rows (account_id, plan_id, place, position, row_id, product_id, code, extensions, extension_key,
        dimension, date, action, reason, old, new, change_percent, margin_before, margin_after, violations, inputs)
      select ${list.account_id}, ${planId},
        row_number() over (order by ${keyOrder(columns)}, dimension, date), position, row_id, product_id, code,
        extensions, extension_key, dimension, date,
        coalesce(action, case when ${isPriced} then 'price' else 'none' end),
        coalesce(reason, case when ${isUnchanged} then 'unchanged' end), old, new,
        ${changePercent(sql`old`, sql`new`)}, margin_before, margin_after,
        case when action is null and ${isPriced} then ${violationsOf(list, price)} else '{}' end, inputs
      from (select * from ${withMargins(list, columns, given, rowColumns)} offset 0) as cell
      returning action, reason, old, new, change_percent, margin_before, margin_after
    )
    select ${summaryOf(operation, rowsOfList)} as summary from stored`.execute(trx)
  return totals[0]?.summary ?? {}
}

const rowColumns = [
  ...['position', 'row_id', 'product_id', 'code', 'extensions', 'extension_key', 'dimension'],
  ...['date', 'action', 'old', 'new', 'reason', 'inputs'],
]

/** SQL of the summary of the stored rows. */
function summaryOf(
  operation: Schemas['PlanOperation'],
  rowsOfList: number | undefined,
): RawBuilder<unknown> {
  const isRemoved = sql`action = 'remove'`
  const untouched =
    rowsOfList === undefined
      ? sql`0`
      : sql`(${rowsOfList}::integer - count(*) filter (where ${isRemoved}))`
  const mean = (value: RawBuilder<unknown>, isMeant: RawBuilder<unknown>) =>
    quotient(
      // Thirds and two thirds cut at 20 decimals must still add up to a whole.
      sql`round(sum(${value}) filter (where ${isMeant}), 12)`,
      sql`count(${value}) filter (where ${isMeant})`,
    )
  const isRise = sql`action = 'price' and (old is null or new > old)`
  const isFall = sql`action = 'price' and (new is null or new < old)`
  const withoutValue = sql`'without_value', count(*) filter (where reason <> 'unchanged'),`
  const hasMargins = sql`margin_before is not null and margin_after is not null`
  return sql`json_build_object(
      'rows', count(*) + ${untouched},
      'changed', count(*) filter (where action = 'price'),
      'unchanged', count(*) filter (where action = 'none') + ${untouched},
      ${operation === 'reprice' ? withoutValue : sql``}
      'added', count(*) filter (where action = 'add'),
      'removed', count(*) filter (where ${isRemoved}),
      'increases', count(*) filter (where ${isRise}), 'decreases', count(*) filter (where ${isFall}),
      'average_change_percent', ${mean(unroundedPercent(sql`old`, sql`new`), sql`action = 'price'`)},
      'largest_increase_percent', max(change_percent) filter (where ${isRise}),
      'largest_decrease_percent', -min(change_percent) filter (where ${isFall}),
      'margin_before', ${mean(sql`margin_before`, hasMargins)},
      'margin_after', ${mean(sql`margin_after`, hasMargins)},
      'negative_margin', count(*) filter (where margin_after < 0)
    )`
}

/** How many stored rows violate each guardrail of the list. */
async function countViolations(
  trx: Trx,
  planId: number,
  list: PriceList,
  removed: number,
): Promise<Schemas['Plan']['violations']> {
  if (Object.keys(guardrailsOf(list)).length === 0) return []
  const ofPlan = sql`account_id = ${list.account_id} and plan_id = ${planId}`
  const { rows: violations } = await sql<Schemas['Plan']['violations'][number]>`
    select guardrail, count(*)::integer as rows from plan_rows, unnest(violations) as guardrail
    where ${ofPlan} group by guardrail order by guardrail`.execute(trx)
  const { changed } = await onlyRow<{ changed: number }>(trx)`
    select count(distinct row_id) as changed from plan_rows where ${ofPlan} and action = 'price'`
  const ofList = listViolations(list, { changed, removed }).map((guardrail) => ({
    guardrail,
    rows: guardrail === 'max_changed_percent' ? changed : removed,
  }))
  return [...violations, ...ofList]
}
