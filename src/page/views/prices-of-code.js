import { get, getPage, post } from '../api.js'
import { announce, el, name } from '../dom.js'
import * as format from '../format.js'
import { href } from '../routes.js'
import { empty, refilling } from '../states.js'
import { calendarStrips } from './calendar-strips.js'
import { competitorHint, competitorLegend, competitorsOf } from './competitors.js'
import { fact } from './list.js'
import { stateBadge } from './lists.js'
import { historyOf } from './price-history.js'
import { priceTable } from './price-table.js'

/** @typedef {import('../api.js').Schemas} Schemas */
/**
 * @typedef {{ code: string, list: Schemas['PriceList'], on: string, date: string | undefined,
 *   asOf: string | undefined }} Wanted
 */
/** @typedef {Schemas['PriceRow'] & { price_dimension: string }} PriceRow */

/**
 * Everything about the prices of one code in one list. Choosing another day of a calendar list reloads only the prices
 * and their past, and calls `onDay`.
 *
 * @param {Wanted} wanted
 * @param {AbortSignal} signal
 * @param {(day: string) => void} onDay
 */
export async function showPricesOf(wanted, signal, onDay) {
  const { code, list } = wanted
  const [schema, products, rows, ofCode] = await Promise.all([
    get('/api/v1/product_catalog/schema/', {}, signal),
    getPage('/api/v1/product_catalog/', { code, limit: 1000 }, signal),
    list.is_published ? readPrices(wanted, signal) : [],
    competitorsOf(code, signal),
  ])
  announce(format.counted(rows.length, 'price'))
  if (products.count === 0) return noProduct()
  const about = aboutProduct(code, products, schema)
  if (rows.length === 0) return [about, noPrices(list)]
  // All rows of a code have the same attributes.
  const competitors = {
    ...ofCode,
    about: (/** @type {object} */ row) => ofCode.about({ ...products.results[0], ...row }),
  }
  const place = el('div', {}, priceTable(wanted, rows, schema, competitors))
  about.append(priceHeading(wanted), place, competitorHint(competitors))
  if (competitors.compared > 0) about.append(competitorLegend())
  const past = el('div', {})
  const refillPast = refilling(past, signal)
  const showPast = (/** @type {PriceRow[]} */ rows) =>
    void refillPast((current) => historyOf(list, rows, schema.extensions, current))
  showPast(rows)
  if (!list.is_calendar || !wanted.date) return [about, past]
  const refill = refilling(place, signal)
  const move = (/** @type {string} */ date) => {
    const there = { ...wanted, date }
    onDay(date)
    void refill(async (current) => {
      const rows = await readPrices(there, current)
      showPast(rows)
      return priceTable(there, rows, schema, competitors)
    })
  }
  return [about, past, calendarStrips({ ...wanted, date: wanted.date }, rows, schema, signal, move)]
}

function noProduct() {
  const hint = 'Codes are case-sensitive.'
  return el(
    'section',
    { class: 'panel' },
    empty('The catalog has no product with this code.', hint),
  )
}

/** @param {Schemas['PriceList']} list */
function noPrices({ is_published, hide_unpriced }) {
  const isHidden = 'The list leaves out prices that were never set; the product may be in it.'
  const isAbsent = 'The product is in the catalog and not in this list.'
  const hint = hide_unpriced ? isHidden : isAbsent
  const why = is_published ? hint : 'The list is not published yet.'
  return el('section', { class: 'panel' }, empty('No prices.', why))
}

/**
 * @param {Wanted} wanted
 * @param {AbortSignal} signal
 * @returns {Promise<PriceRow[]>}
 */
function readPrices({ code, list, on, date, asOf }, signal) {
  const as_of = format.endOf(asOf)
  const body = {
    price_list_id: list.id,
    promotion_date: on,
    // Costs have no history.
    include: ['base_price', 'priced', ...(as_of ? [] : ['margin', 'active_margin'])],
    ...(as_of && { as_of }),
    payload: list.price_dimensions.map((price_dimension) => ({
      code,
      price_dimension,
      ...(date && { date }),
    })),
  }
  return post('/api/v1/prices/get_prices/', body, signal)
}

/**
 * @param {string} code
 * @param {{ count: number, results: Schemas['Product'][] }} products
 * @param {Schemas['CatalogSchema']} schema
 */
function aboutProduct(code, { count, results }, { attributes }) {
  const [first] = results
  const inactive = results.filter(({ active }) => !active).length
  const facts = attributes.filter((column) => first && Object.hasOwn(first, column.name))
  const rows = format.counted(count, 'row')
  const looked = count > results.length ? ` of the first ${format.count(results.length)}` : ''
  return el(
    'section',
    { class: 'panel' },
    el('h2', { class: 'title' }, name(code)),
    el(
      'dl',
      { class: 'facts' },
      facts.map((column) => fact(column.name, name(first?.[column.name]))),
      fact(
        'catalog',
        inactive > 0 ? `${rows}, ${format.count(inactive)}${looked} not active` : rows,
      ),
    ),
  )
}

/** @param {Wanted} wanted */
function priceHeading({ list, on, asOf }) {
  return el(
    'div',
    { class: 'heading rule' },
    el(
      'h3',
      {},
      'In ',
      el('a', { href: href(`lists/${list.id}`) }, name(list.name)),
      ' ',
      stateBadge(list),
    ),
    el(
      'span',
      { class: 'hint' },
      asOf && `as of the end of ${format.day(asOf)} (UTC), `,
      `with the promotions of ${format.day(on)}`,
    ),
  )
}
