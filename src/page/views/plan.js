import { get } from '../api.js'
import { crumbs, el, focusOn, name, refocus } from '../dom.js'
import { faultsOf } from '../faults.js'
import * as format from '../format.js'
import { href } from '../routes.js'
import { fill, refilling } from '../states.js'
import { fact } from './list.js'
import { actionsOf } from './plan-actions.js'
import { guardrailWords, rowsOf } from './plan-rows.js'
import { statusOf, workOf } from './plans.js'

/** @typedef {import('../api.js').Schemas} Schemas */
/** @typedef {{ id: number, page: number, action: string, violation: string }} Choice */
/** @typedef {import('./plan-rows.js').Shown} Shown */

/** @type {import('../main.js').View<Choice>} */
export function showPlan(main, choice, signal) {
  const { id } = choice
  let shown = choice
  const heading = el('h1', {}, `Plan ${id}`)
  const facts = el('div', { class: 'panel' })
  const rows = el('div', { class: 'panel' })
  main.replaceChildren(crumbs(el('a', { href: href('plans') }, 'Plans')), heading, facts, rows)
  const show = async () => {
    const [plan, { extensions }] = await Promise.all([
      get(`/api/v1/plans/${id}/`, {}, signal),
      get('/api/v1/product_catalog/schema/', {}, signal),
    ])
    heading.textContent = `Plan ${id}: ${workOf(plan)}`
    document.title = `Plan ${id} · Pricewell`
    showRows({ plan, extensions })
    return [factsOf(plan), figures(plan), violations(plan), refusal(plan), actions(plan)]
  }
  const refill = refilling(rows, signal)
  const showRows = (/** @type {Pick<Shown, 'plan' | 'extensions'>} */ found) => {
    const load = () => refill((current) => rowsOf({ ...found, choose }, shown, current))
    /** @type {Shown['choose']} */
    const choose = async (chosen, focused) => {
      shown = { id, page: 1, ...chosen }
      history.pushState(null, '', href(`plans/${id}`, chosen))
      await load()
      refocus(rows, focused)
    }
    void load()
  }
  const actions = (/** @type {Schemas['Plan']} */ plan) =>
    actionsOf(plan, signal, () => {
      focusOn(heading)
      void fill(facts, signal, show)
    })
  void fill(facts, signal, show)
}

/** @param {Schemas['Plan']} plan */
function factsOf(plan) {
  const { price_list_id: id, price_list_name: list, revision, skipped, note, status } = plan
  const { created_at, expires_at, apply_at } = plan
  const change = href(`lists/${id}/revisions/${revision}`)
  return el(
    'dl',
    { class: 'facts' },
    fact('Status', statusOf(plan)),
    list !== undefined && fact('Price list', el('a', { href: href(`lists/${id}`) }, name(list))),
    fact('Made', format.moment(created_at)),
    fact('By', name(plan.actor.name)),
    note !== undefined && fact('Why', name(note)),
    status === 'open' && fact('Open until', format.moment(expires_at)),
    apply_at !== undefined && fact('Scheduled for', format.moment(apply_at)),
    revision !== undefined && fact('Made revision', el('a', { href: change }, String(revision))),
    skipped !== undefined && fact('Rows left out', format.count(skipped)),
  )
}

/** The figures of the summary, without those that are absent or zero. @param {Schemas['Plan']} plan */
function figures({ summary }) {
  const { largest_increase_percent: up, largest_decrease_percent: down } = summary
  const { margin_before: before, margin_after: after } = summary
  const counted = Object.entries(counts).map(([key, label]) => {
    const value = summary[/** @type {keyof typeof counts} */ (key)]
    return value !== undefined && (value > 0 || key === 'rows') && fact(label, format.count(value))
  })
  return el(
    'dl',
    { class: 'facts figures' },
    counted,
    summary.average_change_percent != null &&
      fact('On average', format.change(summary.average_change_percent)),
    up != null && fact('Largest rise', format.change(up)),
    down != null && fact('Largest fall', format.change(-down)),
    before != null && fact('Margin', `${format.margin(before)} → ${format.margin(after)}`),
  )
}

/** Counts of a summary in display order. */
const counts = /** @type {const} */ ({
  rows: 'Rows',
  changed: 'Prices change',
  increases: 'Rise',
  decreases: 'Fall',
  unchanged: 'Stay',
  without_value: 'Without a value',
  added: 'Rows come',
  removed: 'Rows leave',
  created: 'New promotions',
  replaced: 'Changed promotions',
  covered_rows: 'Rows covered',
  negative_margin: 'Below cost',
})

/** @param {Schemas['Plan']} plan */
function violations({ id, violations }) {
  if (violations.length === 0) return undefined
  const items = violations.map(({ guardrail, rows }) =>
    el(
      'li',
      {},
      el('a', { href: href(`plans/${id}`, { violation: guardrail }) }, guardrailWords[guardrail]),
      ` (${format.counted(rows, 'row')})`,
    ),
  )
  return el(
    'div',
    { class: 'notice' },
    el('p', { class: 'lead' }, 'Guardrails of the list forbid a part of it:'),
    el('ul', { class: 'plain' }, items),
  )
}

/** Why the service refused the plan at its scheduled time. @param {Schemas['Plan']} plan */
function refusal({ error }) {
  if (!error) return undefined
  return el(
    'div',
    { class: 'failed', role: 'group', 'aria-label': error.title },
    el('p', { class: 'lead' }, error.title),
    // The detail of a stale plan tells programs what to send.
    error.type !== 'plan-stale' && el('p', {}, error.detail),
    faultsOf(error.errors ?? [], error.error_count ?? 0),
  )
}
