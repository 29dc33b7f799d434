import { get } from '../api.js'
import { announce, el, labelled, name } from '../dom.js'
import * as format from '../format.js'
import { href } from '../routes.js'
import { empty, refilling } from '../states.js'
import { table } from '../table.js'

/** @typedef {import('../api.js').Schemas['Plan']} Plan */
/** @typedef {{ list: number | undefined, status: string }} Wanted */

const shownMax = 50

/** Badge colors. */
const statuses = {
  open: 'progress',
  scheduled: 'progress',
  applied: 'done',
  failed: 'failed',
  discarded: '',
  expired: '',
}

const works = {
  update_prices: 'Set prices',
  add_products: 'Add products',
  remove_products: 'Remove products',
  sync: 'Sync with the catalog',
  promotions: 'Set promotions',
  revert: 'Undo changes',
  reprice: 'Compute prices',
}

/** What a plan does, in words. @param {Plan} plan */
export const workOf = ({ operation }) => works[operation]

/** @param {Plan} plan */
export const statusOf = ({ status }) => el('span', { class: `badge ${statuses[status]}` }, status)

/** @type {import('../main.js').View<Wanted>} */
export function showPlans(main, wanted, signal) {
  const place = el('div', { class: 'panel' })
  const refill = refilling(place, signal)
  const show = (/** @type {Wanted} */ wanted) => void refill((current) => plansOf(wanted, current))
  const onchange = () => {
    const chosen = { list: wanted.list, status: select.value }
    history.pushState(null, '', href('plans', chosen))
    show(chosen)
  }
  const select = el(
    'select',
    { onchange },
    ['', ...Object.keys(statuses)].map((status) =>
      el('option', { value: status, selected: status === wanted.status }, status || 'all'),
    ),
  )
  main.replaceChildren(
    el('div', { class: 'heading' }, el('h1', {}, 'Plans'), labelled('Status', select)),
    place,
  )
  show(wanted)
}

/**
 * @param {Wanted} wanted
 * @param {AbortSignal} signal
 */
async function plansOf(wanted, signal) {
  const { count, plans } = await newestPlans(wanted, signal)
  announce(format.counted(count, 'plan'))
  if (count === 0) return noPlans(wanted)
  const [first] = plans
  const ofList = wanted.list !== undefined && [' of ', name(first?.price_list_name ?? 'a list')]
  const limited = count > plans.length && `, the last ${shownMax} are shown`
  return [
    el('p', { class: 'hint' }, ...[`${format.count(count)} in all`, ofList, limited].flat()),
    planTable(plans, count > plans.length),
  ]
}

/**
 * The newest plans first; the service lists the oldest first.
 *
 * @param {Wanted} wanted
 * @param {AbortSignal} signal
 * @returns {Promise<{ count: number, plans: Plan[] }>}
 */
async function newestPlans({ list, status }, signal) {
  const page = (/** @type {number} */ offset) =>
    get('/api/v1/plans/', { price_list_id: list, status, offset, limit: shownMax }, signal)
  const first = await page(0)
  const { count, results } = first.count > shownMax ? await page(first.count - shownMax) : first
  return { count, plans: results.reverse() }
}

/** @param {Wanted} wanted */
function noPlans({ list, status }) {
  return list === undefined && status === ''
    ? empty(
        'There are no plans.',
        'With ',
        el('code', {}, '?plan=true'),
        ' a bulk write makes one, to look at before it acts.',
      )
    : empty('There is no such plan.', el('a', { href: href('plans') }, 'Show all plans'))
}

/** @param {Plan[]} plans @param {boolean} isPart */
function planTable(plans, isPart) {
  return table({
    caption: 'Plans',
    rows: plans,
    isPart,
    columns: [
      { label: 'Plan', sort: ({ id }) => id, cell: titleOf },
      { label: 'Status', sort: ({ status }) => status, cell: statusOf },
      {
        label: 'Changes',
        isNumber: true,
        sort: changesOf,
        cell: (plan) => format.count(changesOf(plan)),
      },
      {
        label: 'Up',
        isNumber: true,
        isWide: true,
        sort: ({ summary }) => summary.increases ?? 0,
        cell: ({ summary }) => format.count(summary.increases ?? 0),
      },
      {
        label: 'Down',
        isNumber: true,
        isWide: true,
        sort: ({ summary }) => summary.decreases ?? 0,
        cell: ({ summary }) => format.count(summary.decreases ?? 0),
      },
      {
        label: 'Violations',
        isNumber: true,
        isWide: true,
        sort: violationsOf,
        cell: (plan) => (violationsOf(plan) > 0 ? loss(violationsOf(plan)) : '–'),
      },
      { label: 'By', isWide: true, cell: ({ actor }) => name(actor.name) },
      {
        label: 'When',
        isWide: true,
        sort: ({ created_at }) => created_at,
        cell: madeAt,
      },
    ],
  })
}

/** @param {Plan} plan */
function titleOf(plan) {
  const { id, price_list_name: list, note } = plan
  return [
    el('a', { class: 'strong', href: href(`plans/${id}`) }, `${id}: ${workOf(plan)}`),
    list !== undefined && el('span', { class: 'sub' }, name(list)),
    note !== undefined && el('span', { class: 'sub' }, name(note)),
    el('span', { class: 'sub narrow' }, madeAt(plan)),
  ]
}

/** @param {Plan} plan */
const madeAt = ({ created_at: at }) =>
  el('time', { datetime: at, title: format.moment(at) }, format.ago(at))

/** @param {Plan} plan */
function changesOf({ summary }) {
  const { changed = 0, added = 0, removed = 0, created = 0, replaced = 0 } = summary
  return changed + added + removed + created + replaced
}

/** @param {Plan} plan */
const violationsOf = ({ violations }) => violations.reduce((sum, { rows }) => sum + rows, 0)

/** @param {number} count */
const loss = (count) => el('span', { class: 'loss' }, format.count(count))
