import { rounded } from '../../../helpers/formula.ts'
import { chance, oneOf, someOf } from '../draw.ts'
import type { Model, PlannedCell, PriceList, StoredPlan } from '../model.ts'
import { expectEqual, type FuzzOperation, type Plan, type World } from '../world.ts'
import { keyOf } from './catalog.ts'
import { allows } from './filters.ts'
import { absentId, absentPlan, pagePlan } from './pages.ts'
import { inOrder, shownCells, summaryOf } from './plan-figures.ts'
import { someFilters, someFormula } from './price-lists.ts'
import { isChanged, newest, publish, putPrice, setPrice } from './revisions.ts'
import { costsOf, setPricesPlan, someDay, withRows } from './rows.ts'

/** A plan as it is read, without its times and its maker, and without means that no double holds. */
function known(answered: Record<string, unknown>, summary: object): unknown {
  const { created_at: _, expires_at: __, actor: ___, ...plan } = answered
  const unknown = Object.entries(summary).filter(([, value]) => Number.isNaN(value))
  return { ...plan, summary: { ...(plan.summary as object), ...Object.fromEntries(unknown) } }
}

/** Makes a plan of cells. */
function makingPlan(
  { model }: World,
  list: PriceList,
  operation: string,
  call: Plan['call'],
  cells: PlannedCell[],
): Plan {
  const base_revision = newest(list)
  const rows = shownCells(model, list, cells)
  const without_value = rows.filter(({ reason = 'unchanged' }) => reason !== 'unchanged').length
  const summary = { ...summaryOf(rows), ...(operation === 'reprice' && { without_value }) }
  const check = ({ body }: { body: Record<string, unknown> & { id: number } }) => {
    const shown = {
      id: body.id,
      status: 'open',
      operation,
      price_list_id: list.id,
      price_list_name: list.name,
      base_revision,
      summary,
      violations: [],
    }
    expectEqual(known(body, summary), shown, 'plan')
    model.plans.push({ id: body.id, shown, list, cells, rows })
  }
  return { call, status: 201, check }
}

/** Plans to set prices. */
function pricesPlan(world: World): Plan {
  const list = oneOf(world.draw, withRows(world.model))
  const { call, cells } = setPricesPlan(world, list)
  const planned = cells.map(({ row, dimension, date, price }): PlannedCell => {
    const old = setPrice(row, { dimension, date })
    return { row, dimension, date, old, new: price, ...(old === price && { reason: 'unchanged' }) }
  })
  const path = `${call.path}?plan=true`
  return makingPlan(world, list, 'update_prices', { ...call, path }, planned)
}

/** Plans new prices by a formula. */
function repricePlan(world: World): Plan {
  const { draw, model } = world
  const list = oneOf(draw, withRows(model))
  const formula = someFormula(world)
  const filters = chance(draw, 30) ? someFilters(world) : undefined
  const dimensions = chance(draw, 30) ? someOf(draw, list.dimensions, 1) : undefined
  const given = chance(draw, 30)
    ? someOf(draw, [0, 1, 2, 3, 4, 5, 6].slice(0, list.decimals + 1), 1)
    : []
  const decimals = given[0] ?? (list.decimals < 6 ? list.decimals : 2)
  const day = someDay(draw, list)
  const cells = [...list.rows.values()]
    .filter((row) => allows(model, filters ?? {}, row))
    .flatMap((row) =>
      (dimensions ?? list.dimensions).map((dimension): PlannedCell => {
        const cell = { row, dimension, date: day ?? '' }
        const old = setPrice(row, cell)
        const value = formula.value(old ?? 0, costsOf(model, row))
        return { ...cell, old, ...repriced(value, decimals, old) }
      }),
    )
  const body = {
    price_list_id: list.id,
    formula: formula.text,
    ...(filters && { product_filters: filters }),
    ...(dimensions && { price_dimensions: dimensions }),
    ...(day && { dates: { from: day, to: day } }),
    ...(given.length > 0 && { decimals }),
  }
  const call = { method: 'POST', path: '/api/v1/prices/reprice/', body }
  return makingPlan(world, list, 'reprice', call, cells)
}

/** The new price of a cell, or why it has none. */
function repriced(
  value: [bigint, bigint] | null,
  decimals: number,
  old: number | null,
): Pick<PlannedCell, 'new' | 'reason'> {
  if (value === null) return { new: null, reason: 'no_value' }
  const [n, d] = value
  if (n < 0n) return { new: null, reason: 'negative' }
  const scaled = (2n * n * 10n ** BigInt(decimals) + d) / (2n * d)
  const digits = String(scaled).replace(/0+$/, '')
  if (digits.length > 15) return { new: null, reason: 'too_large' }
  const price = rounded(value, decimals)
  // A result of 0 leaves a cell without a price as it is.
  return { new: price, ...(price === (old ?? 0) && { reason: 'unchanged' }) }
}

function applyingPlan({ draw, model }: World): Plan {
  const plan = oneOf(draw, open(model))
  const { list, cells, shown } = plan
  const keyed = cells.map((cell) => ({ ...cell, key: keyOf(model, cell.row) }))
  const after = shown.base_revision
  const isStale = (cell: (typeof keyed)[number]) =>
    [undefined, 'unchanged'].includes(cell.reason) && isChanged(list, cell.key, cell, { after })
  const stale = keyed.filter(isStale)
  const left = keyed.filter((cell) => !isStale(cell))
  const skips = chance(draw, 60)
  const body = skips ? { skip: ['stale'] } : {}
  const call = { method: 'POST', path: `/api/v1/plans/${plan.id}/apply/`, body }
  if (stale.length > 0 && !skips)
    return { call, status: 409, type: 'plan-stale', faults: stale.map(() => ['', 'stale']) }
  const check: Plan['check'] = ({ body: ids, headers }) => {
    expectEqual(ids, answeredRows(model, plan, left), 'rows of the applied plan')
    expectEqual(headers['skipped-rows'], String(stale.length), 'rows that were left out')
    for (const { key, reason, new: price, ...cell } of left) {
      const row = list.rows.get(key)
      if (row && reason === undefined) putPrice(row, cell, price)
    }
    const before = newest(list)
    publish(model, list)
    const revision = newest(list)
    expectEqual(headers['price-list-revision'], String(revision), 'revision of the plan')
    const skipped = stale.length > 0 && { skipped: stale.length }
    Object.assign(shown, { status: 'applied', ...(revision > before && { revision }), ...skipped })
  }
  return { call, status: 201, check }
}

/** The rows of new prices are in the order of the call; those of a reprice in that of the plan, without unchanged ones. */
function answeredRows(model: Model, { list, shown }: StoredPlan, left: PlannedCell[]): number[] {
  const priced = left.filter(({ reason }) => reason === undefined)
  const cells = shown.operation === 'reprice' ? inOrder(model, list, priced) : left
  return [...new Set(cells.map(({ row }) => row.pk))]
}

const open = ({ plans }: Model) => plans.filter(({ shown }) => shown.status === 'open')
const ended = ({ plans }: Model) => plans.filter(({ shown }) => shown.status !== 'open')

/** A plan that has ended, or one that is not there. */
function refused({ draw, model, foreign }: World, method: string, suffix = ''): Plan {
  const [plan] = someOf(draw, ended(model), 0, 1)
  const path = `/api/v1/plans/${plan?.id ?? absentId(draw, foreign.plan)}/${suffix}`
  const call = { method, path, ...(suffix && { body: {} }) }
  return plan ? { call, status: 409, type: 'plan-not-open' } : { ...absentPlan(method, path), call }
}

const hasPlans = ({ plans }: Model) => plans.length > 0
const hasOpen = (model: Model) => open(model).length > 0

export const planOperations: FuzzOperation[] = [
  {
    id: 'updatePrices',
    weight: 3,
    isReady: (model) => withRows(model).length > 0,
    valid: pricesPlan,
  },
  {
    id: 'reprice',
    weight: 3,
    isReady: (model) => withRows(model).length > 0 && model.columns.costs.length > 0,
    valid: repricePlan,
  },
  {
    id: 'applyPlan',
    weight: 4,
    isReady: hasOpen,
    valid: applyingPlan,
    faulty: (world) => refused(world, 'POST', 'apply/'),
  },
  {
    id: 'discardPlan',
    weight: 1,
    isReady: hasOpen,
    valid: ({ draw, model }) => {
      const { id, shown } = oneOf(draw, open(model))
      const check = () => void Object.assign(shown, { status: 'discarded' })
      return { call: { method: 'DELETE', path: `/api/v1/plans/${id}/` }, status: 204, check }
    },
    faulty: (world) => refused(world, 'DELETE'),
  },
  {
    id: 'listPlans',
    weight: 1,
    isReady: hasPlans,
    valid: ({ draw, model }) => {
      const status = chance(draw, 50) ? oneOf(draw, ['open', 'applied', 'discarded']) : undefined
      const found = model.plans.filter(
        ({ shown }) => status === undefined || shown.status === status,
      )
      const all = found.map(({ id, shown }) => [id, shown.status])
      const brief = (plan: { id: number; status: string }) => [plan.id, plan.status]
      return pagePlan(draw, '/api/v1/plans/', { status }, all, brief)
    },
  },
  {
    id: 'readPlan',
    weight: 1,
    isReady: hasPlans,
    valid: ({ draw, model }) => {
      const { id, shown, rows } = oneOf(draw, model.plans)
      const check = ({ body }: { body: Record<string, unknown> }) =>
        expectEqual(known(body, summaryOf(rows as never)), shown, 'plan')
      return { call: { method: 'GET', path: `/api/v1/plans/${id}/` }, status: 200, check }
    },
  },
  {
    id: 'listPlanRows',
    weight: 3,
    isReady: hasPlans,
    valid: ({ draw, model }) => {
      const { id, rows } = oneOf(draw, model.plans)
      const action = chance(draw, 30) ? oneOf(draw, ['price', 'none']) : undefined
      const order = chance(draw, 40) ? 'change' : undefined
      const found = rows.filter((row) => action === undefined || row.action === action)
      const size = (row: (typeof rows)[number]) => Math.abs(row.change_percent ?? -1)
      const all = order
        ? found.sort((a, b) =>
            a.change_percent === null || b.change_percent === null
              ? Number(a.change_percent === null) - Number(b.change_percent === null)
              : size(b) - size(a),
          )
        : found
      const withoutInputs = ({ inputs: _, ...row }: Record<string, unknown>) => row
      return pagePlan(draw, `/api/v1/plans/${id}/rows/`, { action, order }, all, withoutInputs)
    },
  },
]
