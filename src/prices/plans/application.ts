import { type RawBuilder, sql } from 'kysely'
import { findColumns } from '../../catalog/columns.ts'
import type { Schemas } from '../../contract/operation.ts'
import { Problem, type RequestError } from '../../contract/problem.ts'
import { listedMax } from '../../contract/row-errors.ts'
import { onlyRow } from '../../database/only-row.ts'
import type { Trx } from '../../database/pool.ts'
import type { StoredPlan } from '../../plans/queries.ts'
import {
  type GuardrailName,
  guardrailViolated,
  listErrors,
  violationErrors,
  violationsOf,
} from '../../price-lists/guardrails.ts'
import { withMargins } from '../../price-lists/margin-sql.ts'
import type { PriceList } from '../../price-lists/queries.ts'
import { placeOfCell, type StoredCell } from '../payload.ts'

/** A plan being applied to its locked list, and what to leave out of it. */
export interface Application {
  trx: Trx
  list: PriceList
  plan: StoredPlan
  skip: ReadonlySet<'stale' | 'violations'>
  /** Whether the caller overrides the guardrails. */
  isOverridden: boolean
}

/** What applying a plan did to a list. */
export interface Applied {
  priced: number
  added: number
  removed: number
  /** Plan rows that were left out. */
  skipped: number
  /** What the planned call would have returned; absent for a revert, which returns these counts. */
  result?: number[] | Schemas['SyncResult']
  /** What a job reports instead. */
  jobResult?: object
  reverts?: { from: number; to: number }
}

/** SQL that is true for rows of a plan. */
export const ofPlan = ({ account_id, id }: StoredPlan) =>
  sql`plan.account_id = ${account_id} and plan.plan_id = ${id}`

/** SQL that is true for a row `plan` that is not left out. */
export const isIncluded = sql`plan.place not in (select place from pg_temp.left_out)`

/**
 * Puts the places of a plan's stale rows into the temporary table `left_out`, and returns their number. `stale` is a
 * SELECT of the places. Throws `plan-stale` unless `skip` has `stale`.
 */
export async function leaveStaleOut(
  { trx, list, plan, skip }: Application,
  stale: RawBuilder<unknown>,
): Promise<number> {
  await sql`create temporary table left_out on commit drop as ${stale}`.execute(trx)
  const { count } = await onlyRow<{ count: number }>(trx)`
    select count(*) as count from pg_temp.left_out`
  if (count > 0 && !skip.has('stale')) throw await planStale(trx, list, plan, count)
  return count
}

async function planStale(
  trx: Trx,
  list: PriceList,
  plan: StoredPlan,
  count: number,
): Promise<Problem> {
  const { rows } = await sql<StoredCell>`
    select code, extensions, dimension, date from plan_rows plan join pg_temp.left_out using (place)
    where ${ofPlan(plan)} order by place limit ${listedMax}`.execute(trx)
  const columns = await findColumns(trx, list.account_id)
  const message = 'was changed, or confirmed later, since the plan was made'
  const errors = rows.map((cell) => ({
    ...placeOfCell(list, columns, cell),
    code: 'stale' as const,
    message,
  }))
  const what = count === 1 ? '1 row of the plan is' : `${count} rows of the plan are`
  const detail = `${what} stale. Nothing was written; \`skip: ["stale"]\` leaves them out.`
  return new Problem('plan-stale', detail, { errors, errorCount: count })
}

const cellColumns = ['place', 'code', 'extensions', 'dimension', 'date', 'old', 'new']

type ViolatingCell = StoredCell & { old: number | null; new: number; violations: GuardrailName[] }

/**
 * If `skip` has `violations`, adds prices that now violate a guardrail to `left_out`, and returns their number.
 * Otherwise throws `guardrail-violated` for them; in any case, if the rest violates a guardrail of the whole list.
 */
export async function leaveViolatingOut(application: Application): Promise<number> {
  const { trx, list, plan, isOverridden, skip } = application
  if (isOverridden) return 0
  const columns = await findColumns(trx, list.account_id)
  const cells = sql`(
    select plan.place, plan.code, plan.extensions, plan.dimension, plan.date, plan.old, plan.new, p.costs
    from plan_rows plan left join products p on p.account_id = ${list.account_id} and p.id = plan.product_id
    where ${ofPlan(plan)} and plan.action = 'price'
  ) as cell`
  const price = { old: sql`old`, new: sql`new`, margin: sql`margin_after` }
  await sql`
    create temporary table violating on commit drop as
    select * from (
      select place, code, extensions, dimension, date, old, new, ${violationsOf(list, price)} as violations
      from ${withMargins(list, columns, cells, cellColumns)}
    ) as cell where cardinality(violations) > 0`.execute(trx)
  // A separate statement: a cluster refuses a temporary table beside an outer join.
  await sql`
    delete from pg_temp.violating where place in (select place from pg_temp.left_out)`.execute(trx)
  const { rows } = await sql<ViolatingCell & { total: number }>`
    select *, sum(cardinality(violations)) over () as total from pg_temp.violating order by place limit ${listedMax}`.execute(
    trx,
  )
  const left = skip.has('violations') ? await leaveAllViolatingOut(trx) : 0
  const ofRows = skip.has('violations') ? [] : rows
  const ofList = await findListErrors(application)
  const count = ofList.length + (ofRows[0]?.total ?? 0)
  if (count === 0) return left
  const errors = violationErrors(list, ofRows, (cell) => placeOfCell(list, columns, cell))
  throw guardrailViolated([...ofList, ...errors], count)
}

async function leaveAllViolatingOut(trx: Trx): Promise<number> {
  const { rows } = await sql`
    insert into pg_temp.left_out select place from pg_temp.violating returning place`.execute(trx)
  return rows.length
}

/** Violations of the whole list's guardrails by what is left of the plan. */
async function findListErrors({ trx, list, plan }: Application): Promise<RequestError[]> {
  const counts = await onlyRow<{ changed: number; removed: number }>(trx)`
    select count(distinct row_id) filter (where action = 'price') as changed,
      count(*) filter (where action = 'remove') as removed
    from plan_rows plan where ${ofPlan(plan)} and ${isIncluded}`
  return listErrors(list, counts)
}
