import { type Selectable, sql } from 'kysely'
import type { PlanRows } from '../../generated/database.d.ts'
import { columnEntries } from '../catalog/column-value.ts'
import { type Columns, findColumns } from '../catalog/columns.ts'
import type { Export } from '../contract/export.ts'
import { type OperationRequest, type Schemas, transaction } from '../contract/operation.ts'
import { readPage, withoutAbsent } from '../contract/read-page.ts'
import type { Trx } from '../database/pool.ts'
import { findPlan, type StoredPlan } from './queries.ts'

/** Returns a page of a plan's rows, in plan order or with the largest change first. Throws `not-found`. */
export const listPlanRows = transaction<'listPlanRows'>(async (trx, { account, params, query }) => {
  const plan = await findPlan(trx, account, params.id)
  const shown = await findShown(trx, plan)
  const all = filtered(trx, plan, query)
  const { count, rows } = await readPage(trx, { all, rows: numbered(all, query), query })
  const show = rowWriter(shown)
  return { count, results: rows.map((row) => show(row)) }
})

/** Exports all rows of a plan that pass the filters, in the order of `listPlanRows`. */
export const exportPlanRows: Export<'listPlanRows'> = async (trx, { account, params, query }) => {
  const plan = await findPlan(trx, account, params.id)
  const shown = await findShown(trx, plan)
  const show = rowWriter(shown)
  return {
    columns: await fileColumns(trx, shown),
    query: numbered(filtered(trx, plan, query), query).orderBy('id'),
    rowsOf: (row: Selectable<PlanRows>) => [show(row)],
  }
}

type Filters = OperationRequest<'listPlanRows'>['query']

function filtered(trx: Trx, plan: StoredPlan, { action, violation, reason }: Filters) {
  return trx
    .selectFrom('plan_rows')
    .where('account_id', '=', plan.account_id)
    .where('plan_id', '=', plan.id)
    .$if(action !== undefined, (rows) => rows.where('action', '=', action ?? 'none'))
    .$if(reason !== undefined, (rows) => rows.where('reason', '=', reason ?? ''))
    .$if(violation !== undefined, (rows) =>
      rows.where(sql<boolean>`${violation ?? ''} = any(violations)`),
    )
}

/** Adds `id`, the place of a row in the order. */
function numbered(rows: ReturnType<typeof filtered>, { order }: Filters) {
  const byChange = sql`row_number() over (order by abs(change_percent) desc nulls last, place)`
  const place = order === 'change' ? sql<number>`${byChange}` : sql<number>`place`
  return rows.selectAll().select(place.as('id'))
}

/** A plan, and what its rows show of the list and the catalog. */
interface Shown {
  plan: StoredPlan
  columns: Columns
  dimensions: string[]
  isCalendar: boolean
}

async function findShown(trx: Trx, plan: StoredPlan): Promise<Shown> {
  const { account_id, price_list_id } = plan
  const columns = await findColumns(trx, account_id)
  const list = await trx
    .selectFrom('price_lists')
    .select(['price_dimensions', 'is_calendar'])
    .where('account_id', '=', account_id)
    .where('id', '=', price_list_id)
    .executeTakeFirst()
  const { price_dimensions: dimensions = [], is_calendar: isCalendar = false } = list ?? {}
  return { plan, columns, dimensions, isCalendar }
}

const planKeys = [
  ...['action', 'reason', 'old', 'new', 'change_percent', 'margin_before', 'margin_after'],
  'violations',
]

/** Whether an extension is shown: the keys of a plan's row come before a column of the same name. */
const isBeside = (name: string) => name !== 'inputs' && !planKeys.includes(name)

async function fileColumns(trx: Trx, { plan, columns, isCalendar }: Shown): Promise<string[]> {
  if (plan.operation === 'promotions')
    return ['name', 'action', 'reason', 'covered_rows', 'before', 'after']
  return [
    ...['code', ...columns.extensions.map(({ name }) => name).filter(isBeside)],
    ...['price_dimension', ...(isCalendar ? ['date'] : [])],
    ...planKeys,
    ...(await inputColumns(trx, plan)),
  ]
}

/** One column for each input of a reprice: all its rows have the same. */
async function inputColumns(trx: Trx, plan: StoredPlan): Promise<string[]> {
  if (plan.operation !== 'reprice') return []
  const [row] = await filtered(trx, plan, {}).select('inputs').orderBy('place').limit(1).execute()
  return Object.keys(row?.inputs ?? {}).map((name) => `inputs.${name}`)
}

/** Price rows always carry their numbers, even null ones; other rows have none. */
function rowWriter({ plan: { operation }, dimensions, columns }: Shown) {
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
