import { type Selectable, sql } from 'kysely'
import type { PlanRows } from '../../generated/database.d.ts'
import { columnEntries } from '../catalog/column-value.ts'
import { type Columns, findColumns } from '../catalog/columns.ts'
import type { Handler, Schemas } from '../contract/operation.ts'
import { readPage, withoutAbsent } from '../contract/read-page.ts'
import type { Trx } from '../database/pool.ts'
import { findPlan, type StoredPlan } from './queries.ts'

/** Returns a page of a plan's rows, in plan order or with the largest change first. Throws `not-found`. */
export const listPlanRows: Handler<'listPlanRows'> = ({ account, params, query, inAccount }) =>
  inAccount(async (trx) => {
    const plan = await findPlan(trx, account, params.id)
    const columns = await findColumns(trx, account)
    const dimensions = await dimensionsOf(trx, plan)
    const { action, violation, order } = query
    const all = trx
      .selectFrom('plan_rows')
      .where('account_id', '=', account)
      .where('plan_id', '=', plan.id)
      .$if(action !== undefined, (rows) => rows.where('action', '=', action ?? 'none'))
      .$if(violation !== undefined, (rows) =>
        rows.where(sql<boolean>`${violation ?? ''} = any(violations)`),
      )
    const byChange = sql`row_number() over (order by abs(change_percent) desc nulls last, place)`
    const at = order === 'change' ? sql<number>`${byChange}` : sql<number>`place`
    const numbered = all.selectAll().select(at.as('id'))
    const { count, rows } = await readPage(trx, { all, rows: numbered, query })
    const show = rowWriter(plan, dimensions, columns)
    return { count, results: rows.map((row) => show(row)) }
  })

async function dimensionsOf(trx: Trx, { account_id, price_list_id }: StoredPlan) {
  const list = await trx
    .selectFrom('price_lists')
    .select('price_dimensions')
    .where('account_id', '=', account_id)
    .where('id', '=', price_list_id)
    .executeTakeFirst()
  return list?.price_dimensions ?? []
}

const planKeys = [
  ...['action', 'reason', 'old', 'new', 'change_percent', 'margin_before', 'margin_after'],
  ...['violations', 'inputs'],
]

/** Whether an extension is shown: the keys of a plan's row come before a column of the same name. */
const isBeside = (name: string) => !planKeys.includes(name)

/** Price rows always carry their numbers, even null ones; other rows have none. */
function rowWriter({ operation }: StoredPlan, dimensions: string[], columns: Columns) {
  return (row: Selectable<PlanRows>): Schemas['PlanRow'] => {
    const { action, reason, violations } = row
    if (operation === 'promotions') {
      const { name, before, after, covered_rows } = row
      return { ...withoutAbsent({ name, action, reason, covered_rows }), before, after } as never
    }
    const { old, new: new_, change_percent, margin_before, margin_after } = row
    const isCell = row.dimension !== null
    const price_dimension = isCell ? dimensions[(row.dimension as number) - 1] : undefined
    return {
      code: row.code ?? '',
      ...Object.fromEntries(
        columnEntries(columns.extensions, row.extensions ?? []).filter(([name]) => isBeside(name)),
      ),
      ...withoutAbsent({ price_dimension, date: row.date, action, reason }),
      ...(isCell && { old, new: new_, change_percent, margin_before, margin_after }),
      violations: violations as Schemas['GuardrailName'][],
      ...(row.inputs && { inputs: row.inputs }),
    } as Schemas['PlanRow']
  }
}
