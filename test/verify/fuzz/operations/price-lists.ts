import fc from 'fast-check'
import { formulas, rounded } from '../../../helpers/formula.ts'
import { chance, oneOf, someOf } from '../draw.ts'
import type { Columns, Filters, Margin, Model, PriceList } from '../model.ts'
import { day, dayAfter, freshName, text, type Value } from '../values.ts'
import { expectEqual, type FuzzOperation, type Plan, type World } from '../world.ts'
import { absentId, absentPlan, pagePlan } from './pages.ts'
import { newest } from './revisions.ts'

/** Filters on some of `code`, attributes and extensions. */
export function someFilters({ draw, model }: World): Filters {
  const columns = [...model.columns.attributes, ...model.columns.extensions]
  const pools: [string, Value[]][] = [
    ['code', model.codes],
    ...columns.map(({ name }): [string, Value[]] => [name, model.pools.get(name) ?? []]),
  ]
  const chosen = someOf(draw, pools, 1, 2)
  return Object.fromEntries(
    chosen.map(([name, pool]) => [name, someOf(draw, pool, chance(draw, 90) ? 1 : 0)]),
  )
}

/** An amount in millionths, exactly. */
export function millionths(value: number): bigint {
  const [whole = '', decimals = ''] = String(value).split('.')
  return BigInt(whole + decimals.padEnd(6, '0'))
}

/** A formula over the price and the costs of a row, of an account that has costs. */
export function someFormula({ draw, model: { columns } }: World) {
  const names = columns.costs.map(({ name, letter }) => [letter, `"${name.replaceAll('"', '""')}"`])
  const { text, value } = draw(formulas(names).filter((one) => one.text.length < 80))
  const hasPrice = text.includes('Price')
  return {
    text: `=${text}`,
    value: (price: number | null, amounts: Record<string, number>) =>
      price === null && hasPrice ? null : value(givenFor(columns)(price ?? 0, amounts)),
  }
}

const givenFor =
  ({ costs }: Columns) =>
  (price: number, amounts: Record<string, number>) => ({
    price: millionths(price),
    costs: costs.map(({ name }) =>
      Object.hasOwn(amounts, name) ? millionths(amounts[name] as number) : null,
    ),
  })

/** A formula of a list, or the default: as it is sent, as it is read, and what it gives. */
export function formulaFor(world: World): { text?: string; shown: string; margin: Margin } {
  const { costs } = world.model.columns
  const given = givenFor(world.model.columns)
  if (costs.length > 0 && chance(world.draw, 60)) {
    const { text, value } = someFormula(world)
    const margin: Margin = (...of) => {
      const exact = value(...of)
      return exact && rounded(exact)
    }
    return { text, shown: text, margin }
  }
  const sum = costs.length === 0 ? '0' : `(${costs.map(({ letter }) => letter).join(' + ')})`
  return { shown: `= (Price - ${sum}) / Price * 100`, margin: defaultMargin(given) }
}

type Given = (
  price: number,
  amounts: Record<string, number>,
) => { price: bigint; costs: (bigint | null)[] }

/** (Price - costs) / Price * 100 */
function defaultMargin(given: Given): Margin {
  return (amount, amounts) => {
    if (amount === null) return null
    const { price, costs } = given(amount, amounts)
    if (price === 0n || costs.includes(null)) return null
    const rest = (costs as bigint[]).reduce((left, cost) => left - cost, price)
    return rounded([rest * 100n, price])
  }
}

type Draft = Omit<PriceList, 'id'>

function listInput(world: World): { row: Record<string, unknown>; list: Draft } {
  const { draw } = world
  const formula = formulaFor(world)
  const isCalendar = chance(draw, 30)
  const validFrom = draw(day) < '9990' ? draw(day) : '2026-01-01'
  const valid_from = validFrom < '9990' ? validFrom : '2024-02-29'
  const dimensions = chance(draw, 50)
    ? draw(fc.uniqueArray(text, { minLength: 1, maxLength: 3 }))
    : undefined
  const filters = chance(draw, 30) ? someFilters(world) : undefined
  const row = {
    name: draw(freshName),
    valid_from,
    valid_to: dayAfter(valid_from, draw(fc.nat({ max: 700 }))),
    ...(chance(draw, 40) && { description: draw(text) }),
    ...(dimensions && { price_dimensions: dimensions }),
    ...(formula.text !== undefined && { margin_formula: formula.text }),
    ...(filters && { product_filters: filters }),
    ...(chance(draw, 30) && { decimals: draw(fc.nat({ max: 6 })) }),
    ...((isCalendar || chance(draw, 30)) && { is_calendar: isCalendar }),
  }
  const settings = {
    price_dimensions: ['price'],
    product_filters: {},
    is_calendar: false,
    decimals: 6,
    hide_unpriced: false,
    guardrails: {},
    origin: 'api',
    ...(isCalendar && { last_date: dayAfter(valid_from, 364) }),
    ...row,
    margin_formula: formula.shown,
  }
  const list = {
    name: row.name,
    settings,
    dimensions: dimensions ?? ['price'],
    isCalendar,
    validFrom: valid_from,
    filters: filters ?? {},
    margin: formula.margin,
    decimals: row.decimals ?? 6,
    rows: new Map(),
    revisions: [{ rows: new Map(), promotions: new Map() }],
  }
  return { row, list }
}

export function listPlan(world: World): Plan & { call: { body: Record<string, unknown>[] } } {
  const inputs = Array.from({ length: world.draw(fc.integer({ min: 1, max: 2 })) }, () =>
    listInput(world),
  )
  const body = inputs.map(({ row }) => row)
  return {
    call: { method: 'POST', path: '/api/v1/price_list/bulk_create/', body },
    status: 201,
    check: ({ body: answer }, { model }) => {
      expectEqual(
        answer.map(({ name }: { name: string }) => name),
        body.map(({ name }) => name),
        'names of lists',
      )
      for (const [index, { list }] of inputs.entries())
        model.lists.set(list.name, { ...list, id: answer[index].id })
    },
  }
}

function faultyLists(world: World): Plan {
  const { draw, model } = world
  const plan = listPlan(world)
  const rows = plan.call.body
  const at = draw(fc.nat({ max: rows.length - 1 }))
  const row = rows[at] as Record<string, unknown>
  const refused = (change: object, field: string, code: string): Plan => {
    Object.assign(row, change)
    return { ...plan, status: 400, faults: [[`/${at}/${field}`, code]] }
  }
  const taken = oneOf(draw, [...model.lists.values()])
  const code = draw(fc.constantFrom<[unknown, string]>([5, 'type'], ['', 'length']))
  return oneOf(draw, [
    () => refused({ valid_from: dayAfter(String(row.valid_to), 1) }, 'valid_to', 'range'),
    () =>
      refused(
        { product_filters: { 'no/column': [1] } },
        'product_filters/no~1column',
        'unknown_column',
      ),
    () => refused({ product_filters: { code: ['A', code[0]] } }, 'product_filters/code/1', code[1]),
    () =>
      refused(
        {
          margin_formula: draw(
            fc.constantFrom('=', 'Price', '=Price+', '=1 1', '=ZZ', '=(1', '=a()', '=1;'),
          ),
        },
        'margin_formula',
        'formula',
      ),
    (): Plan => {
      row.name = taken.name
      return { ...plan, status: 409, type: 'name-taken' }
    },
    (): Plan => {
      rows.push({ ...row, description: 'another' })
      return { ...plan, status: 400, faults: [[`/${rows.length - 1}`, 'duplicate_row']] }
    },
  ])()
}

/** A list as it is read, without the time of its publication. */
export function shown(list: PriceList): unknown {
  const { id, settings } = list
  const { valid_from, valid_to } = settings as Record<string, string>
  const today = new Date().toISOString().slice(0, 10)
  const state =
    today < (valid_from ?? '') ? 'future' : today > (valid_to ?? '') ? 'expired' : 'current'
  const revision = newest(list)
  return { ...settings, id, state, is_published: revision > 0, revision }
}

/** A list without what the model does not know. */
export function withoutTime({ published_at: _, ...list }: Record<string, unknown>): unknown {
  return list
}

const isReady = ({ lists }: Model) => lists.size > 0
const byId = (a: { id: number }, b: { id: number }) => a.id - b.id
const foreignList = ({ draw, foreign }: World) =>
  `/api/v1/price_list/${absentId(draw, foreign.list.id)}`

/** Price lists, without their rows. */
export const listOperations: FuzzOperation[] = [
  { id: 'createPriceLists', weight: 3, isReady, valid: listPlan, faulty: faultyLists },
  {
    id: 'listPriceLists',
    weight: 2,
    isReady,
    valid: ({ draw, model, foreign }) => {
      const names = [...model.lists.keys(), foreign.list.name]
      const name = chance(draw, 40) ? oneOf(draw, names) : undefined
      const all = [...model.lists.values()].filter(
        (list) => name === undefined || list.name === name,
      )
      return pagePlan(draw, '/api/v1/price_list/', { name }, all.sort(byId).map(shown), withoutTime)
    },
  },
  {
    id: 'readPriceList',
    weight: 2,
    isReady,
    valid: ({ draw, model }) => {
      const list = oneOf(draw, [...model.lists.values()])
      const check = ({ body }: { body: Record<string, unknown> }) =>
        expectEqual(withoutTime(body), shown(list), 'price list')
      return { call: { method: 'GET', path: `/api/v1/price_list/${list.id}` }, status: 200, check }
    },
    faulty: (world) => absentPlan('GET', foreignList(world), 'price-list-not-found'),
  },
  {
    id: 'deletePriceList',
    weight: 1,
    isReady: ({ lists }) => lists.size > 3,
    valid: ({ draw, model }) => {
      const { id, name } = oneOf(draw, [...model.lists.values()])
      const check = () => {
        model.lists.delete(name)
        // Its jobs lose the name.
        for (const job of model.jobs) if (job.price_list_id === id) delete job.price_list_name
        for (const { shown } of model.plans.filter((plan) => plan.list.id === id)) {
          delete shown.price_list_name
          if (shown.status === 'open') shown.status = 'discarded'
        }
      }
      return { call: { method: 'DELETE', path: `/api/v1/price_list/${id}` }, status: 204, check }
    },
    faulty: (world) => absentPlan('DELETE', foreignList(world), 'price-list-not-found'),
  },
]
