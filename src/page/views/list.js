import { get } from '../api.js'
import { crumbs, el, name, names, refocus } from '../dom.js'
import * as format from '../format.js'
import { href } from '../routes.js'
import { fill, refilling } from '../states.js'
import { asOfField, dayField, placeOf, searchField } from './list-place.js'
import { rowsOf } from './list-rows.js'
import { kindOf, publication, stateBadge, validity } from './lists.js'
import { showRevisions } from './revisions.js'

/** @typedef {import('../api.js').Schemas['PriceList']} PriceList */

/** @typedef {{ id: number } & import('./list-place.js').Place} Choice */

/** @type {import('../main.js').View<Choice>} */
export function showList(main, { id, ...place }, signal) {
  const heading = el('h1', {}, `Price list ${id}`)
  const facts = el('div', { class: 'panel' })
  const rows = el('div', { class: 'panel' })
  const changes = el('div', { class: 'panel' })
  main.replaceChildren(
    crumbs(el('a', { href: href('lists') }, 'Price lists')),
    heading,
    facts,
    rows,
    changes,
  )
  void fill(facts, signal, async () => {
    /** @type {[PriceList, { count: number }]} */
    const [list, open] = await Promise.all([
      get(`/api/v1/price_list/${id}`, {}, signal),
      get('/api/v1/plans/', { price_list_id: id, status: 'open', limit: 1 }, signal),
    ])
    heading.replaceChildren(name(list.name), ' ', stateBadge(list))
    document.title = `${list.name} · Pricewell`
    showRows(rows, list, place, signal)
    showRevisions(changes, list, signal)
    return factsOf(list, open.count)
  })
}

/**
 * Shows rows, and reloads them when their order, day or search changes, without leaving the page. The fields stay
 * meanwhile, with what is typed into them.
 *
 * @param {HTMLElement} panel
 * @param {PriceList} list
 * @param {import('./list-place.js').Place} place
 * @param {AbortSignal} signal
 */
function showRows(panel, list, place, signal) {
  const title = el('h2', {}, 'Rows')
  const rows = el('div', { class: 'rows' })
  const refill = refilling(rows, signal)
  let shown = place
  const load = () => refill((current) => rowsOf({ list, title, show }, shown, current))
  const moveTo = (/** @type {Partial<typeof place>} */ change) => {
    shown = { ...shown, page: 1, ...change }
    return placeOf(list, shown)
  }
  /** @type {import('./list-place.js').Shown['show']} */
  const show = async (change) => {
    history.pushState(null, '', moveTo(change))
    await load()
    refocus(rows, 'th[aria-sort] button')
  }
  const search = searchField((contains) => {
    if (signal.aborted) return
    // Each pause while typing would be a step back.
    history.replaceState(null, '', moveTo({ contains }))
    void load()
  }, place.contains)
  panel.replaceChildren(
    el(
      'div',
      { class: 'heading' },
      el('div', {}, title, el('span', { class: 'hint' }, 'published prices, before promotions')),
      el(
        'div',
        { class: 'choice' },
        search,
        list.is_calendar && dayField(list, place.date, (date) => show({ date })),
        list.is_published && asOfField(place.asOf, (asOf) => show({ asOf })),
      ),
    ),
    rows,
  )
  void load()
}

/** @param {PriceList} list @param {number} openPlans */
function factsOf(list, openPlans) {
  const filters = Object.entries(list.product_filters).map(([column, values]) =>
    el('li', {}, name(column), ' is ', names(values)),
  )
  const limits = guardrailsOf(list.guardrails).map((limit) => el('li', {}, limit))
  return [
    list.description && el('p', {}, name(list.description)),
    el(
      'dl',
      { class: 'facts' },
      fact('Valid', validity(list)),
      fact('Kind', kindOf(list)),
      fact('Published', publication(list)),
      fact('Margin', el('code', {}, list.margin_formula)),
      fact('Products', filters.length > 0 ? el('ul', {}, filters) : 'all of the catalog'),
      fact(
        'Plans',
        el('a', { href: href('plans', { list: list.id }) }, `${format.count(openPlans)} open`),
      ),
      limits.length > 0 && fact('Guardrails', el('ul', {}, limits)),
      list.currency !== undefined && fact('Currency', list.currency),
      list.decimals < 6 && fact('Decimals', list.decimals),
      list.origin !== 'api' && fact('Made by', name(list.origin)),
    ),
  ]
}

/** @param {PriceList['guardrails']} guardrails @returns {string[]} */
function guardrailsOf(guardrails) {
  /** @type {{ [key in keyof Required<typeof guardrails>]: (value: number) => string }} */
  const words = {
    min_price: (value) => `a price is at least ${format.price(value)}`,
    max_price: (value) => `a price is at most ${format.price(value)}`,
    max_increase_percent: (value) => `it rises by at most ${format.percent(value)}`,
    max_decrease_percent: (value) => `it falls by at most ${format.percent(value)}`,
    min_margin_percent: (value) => `the margin is at least ${format.percent(value)}`,
    no_zero: () => 'no price is 0',
    max_changed_percent: (value) => `a call changes at most ${format.percent(value)} of the rows`,
    max_removed_percent: (value) => `a call removes at most ${format.percent(value)} of the rows`,
  }
  return Object.entries(words).flatMap(([key, say]) => {
    const value = guardrails[/** @type {keyof typeof guardrails} */ (key)]
    return value === undefined || value === false ? [] : [say(Number(value))]
  })
}

/**
 * @param {string} term
 * @param {import('../dom.js').Child} description
 */
export function fact(term, description) {
  return el('div', {}, el('dt', {}, term), el('dd', {}, description))
}
