import { get } from '../api.js'
import { announce, el, labelled, name, names } from '../dom.js'
import * as format from '../format.js'
import { href } from '../routes.js'
import { empty } from '../states.js'
import { pager, table } from '../table.js'

/** @typedef {import('../api.js').Schemas} Schemas */
/** @typedef {Schemas['PlanRow']} Row */
/** @typedef {import('./plan.js').Choice} Choice */
/** @typedef {import('../table.js').Column<Row>} Column */
/**
 * The plan on display; `choose` shows other rows of it and focuses an element there.
 *
 * @typedef {{ plan: Schemas['Plan'], extensions: { name: string }[],
 *   choose: (chosen: Pick<Choice, 'action' | 'violation'>, focused: string) => void }} Shown
 */

const rowsAtOnce = 50

/** Guardrail violations, in words. */
export const guardrailWords = {
  min_price: 'price too low',
  max_price: 'price too high',
  max_increase_percent: 'rises too much',
  max_decrease_percent: 'falls too much',
  min_margin_percent: 'margin too low',
  no_zero: 'price of 0',
  max_changed_percent: 'too many rows change',
  max_removed_percent: 'too many rows leave',
}

const actions = {
  price: 'price set',
  add: 'added',
  remove: 'removed',
  create: 'new',
  replace: 'changed',
  none: 'nothing',
}

const reasons = {
  unchanged: 'it is so already',
  no_value: 'no value',
  negative: 'negative value',
  too_large: 'too large',
}

/**
 * One page of a plan's rows, largest change first, or the last page if there are fewer.
 *
 * @param {Shown} shown
 * @param {Choice} choice
 * @param {AbortSignal} signal
 * @returns {Promise<import('../dom.js').Child[]>}
 */
export async function rowsOf(shown, choice, signal) {
  const { plan, extensions } = shown
  const { page, action, violation } = choice
  const paging = { offset: (page - 1) * rowsAtOnce, limit: rowsAtOnce, order: 'change' }
  const path = `/api/v1/plans/${plan.id}/rows/`
  const { count, results } = await get(path, { action, violation, ...paging }, signal)
  const pages = Math.max(1, Math.ceil(count / rowsAtOnce))
  if (page > pages) return rowsOf(shown, { ...choice, page: pages }, signal)
  const counted = format.counted(count, 'row')
  announce(counted)
  const heading = el(
    'div',
    { class: 'heading' },
    el('div', {}, el('h2', {}, counted), el('span', { class: 'hint' }, 'the largest change first')),
    filters(shown, choice),
  )
  if (count === 0) return [heading, empty('No row matches.', 'Choose another action or violation.')]
  const columns =
    plan.operation === 'promotions' ? promotionColumns() : cellColumns(plan, extensions)
  const caption = `Rows of plan ${plan.id}`
  return [
    heading,
    table({ caption, rows: results, columns, isCards: true, isPart: count > results.length }),
    pager(page, pages, (page) => href(`plans/${plan.id}`, { page, action, violation })),
  ]
}

/**
 * @param {Shown} shown
 * @param {Choice} choice
 */
function filters({ plan: { violations }, choose }, { action, violation }) {
  const select = (
    /** @type {'action' | 'violation'} */ name,
    /** @type {string} */ value,
    /** @type {Record<string, string>} */ words,
  ) =>
    el(
      'select',
      { name, onchange: () => open(name) },
      ['', ...Object.keys(words)].map((key) =>
        el('option', { value: key, selected: key === value }, words[key] ?? 'all'),
      ),
    )
  const open = (/** @type {string} */ name) => {
    const chosen = { action: byAction.value, violation: byViolation.value }
    choose(chosen, `select[name=${name}]`)
  }
  const violated = violations.map(({ guardrail }) => [guardrail, guardrailWords[guardrail]])
  const byAction = select('action', action, actions)
  const byViolation = select('violation', violation, Object.fromEntries(violated))
  return el(
    'div',
    { class: 'buttons' },
    labelled('Action', byAction),
    violated.length > 0 && labelled('Violation', byViolation),
  )
}

/**
 * @param {Schemas['Plan']} plan
 * @param {{ name: string }[]} extensions
 * @returns {Column[]}
 */
function cellColumns({ price_list_id: list }, extensions) {
  return [
    {
      label: 'Product',
      sort: ({ code = '' }) => code,
      cell: (row) =>
        el(
          'div',
          {},
          el(
            'a',
            { class: 'strong', href: href('prices', { code: row.code, list, date: row.date }) },
            name(row.code ?? ''),
          ),
          el('span', { class: 'sub' }, names(placeOf(row, extensions))),
          ...(row.violations ?? []).map((guardrail) =>
            el('span', { class: 'badge failed' }, guardrailWords[guardrail]),
          ),
        ),
    },
    { label: 'Action', isWide: true, sort: ({ action }) => action, cell: actionOf },
    { label: 'Before', isNumber: true, sort: (row) => row.old ?? -1, cell: beforeOf },
    { label: 'After', isNumber: true, sort: (row) => row.new ?? -1, cell: afterOf },
    {
      label: 'Change',
      isNumber: true,
      sort: (row) => row.change_percent ?? Number.POSITIVE_INFINITY,
      cell: ({ change_percent = null }) => format.change(change_percent),
    },
    {
      label: 'Margin after',
      isNumber: true,
      isWide: true,
      sort: (row) => row.margin_after ?? Number.NEGATIVE_INFINITY,
      cell: ({ margin_after }) =>
        el('span', { class: (margin_after ?? 0) < 0 ? 'loss' : '' }, format.margin(margin_after)),
    },
  ]
}

/** @param {Row} row @param {{ name: string }[]} extensions */
function placeOf({ price_dimension, date, ...row }, extensions) {
  return [
    ...extensions.map((column) => row[column.name]),
    price_dimension,
    date && format.day(date),
  ].filter((part) => part !== undefined)
}

/** @param {Row} row */
function actionOf({ action, reason }) {
  return reason ? `${actions[action]}: ${reasons[reason]}` : actions[action]
}

/** @param {Row} row */
const beforeOf = ({ action, old }) => (action === 'add' ? 'not in the list' : format.price(old))

/** @param {Row} row */
const afterOf = (row) => (row.action === 'remove' ? 'leaves the list' : format.price(row.new))

/** @returns {Column[]} */
function promotionColumns() {
  return [
    { label: 'Promotion', sort: (row) => row.name ?? '', cell: (row) => name(row.name ?? '') },
    { label: 'Action', sort: ({ action }) => action, cell: actionOf },
    { label: 'Before', isWide: true, cell: ({ before }) => promotionOf(before) },
    { label: 'After', cell: ({ after }) => promotionOf(after) },
    {
      label: 'Rows covered',
      isNumber: true,
      sort: (row) => row.covered_rows ?? 0,
      cell: (row) => format.count(row.covered_rows ?? 0),
    },
  ]
}

/** @param {Schemas['PlannedPromotion'] | undefined} promotion */
function promotionOf(promotion) {
  if (!promotion) return '–'
  const { kind, value, valid_from, valid_to } = /** @type {Schemas['Promotion']} */ (promotion)
  const what = {
    percentage: format.percent(-value),
    amount: `-${format.price(value)}`,
    fixed_price: format.price(value),
  }
  const days = el('span', { class: 'sub' }, `${format.day(valid_from)} – ${format.day(valid_to)}`)
  return el('div', {}, what[kind], days)
}
