import { Failure, get } from '../api.js'
import { el, name } from '../dom.js'
import * as format from '../format.js'

/** @typedef {import('../api.js').Schemas['CompetitorPrice']} CompetitorPrice */
/** @typedef {(row: Record<string, unknown>) => CompetitorPrice[]} CompetitorsOf */

const shownMax = 3

/**
 * Answers the competitor prices that are about a row of this code, cheapest first; none without a schema.
 *
 * @param {string} code
 * @param {AbortSignal} signal
 * @returns {Promise<CompetitorsOf>}
 */
export async function competitorsOf(code, signal) {
  const schema = await get('/api/v1/competitor_prices/schema/', {}, signal).catch((error) => {
    if (error instanceof Failure && error.status === 404) return undefined
    throw error
  })
  /** @type {string[]} */
  const dimensions = schema?.input.dimensions ?? []
  if (!dimensions.includes('code')) return () => []
  /** @type {{ results: CompetitorPrice[] }} */
  const { results } = await get('/api/v1/competitor_prices/', { code, limit: 1000 }, signal)
  const sorted = results.sort((a, b) => a.competitor_price - b.competitor_price)
  // A competitor price has texts only; an attribute in the schema is the same for all rows of the code.
  const isAbout = (
    /** @type {CompetitorPrice} */ entry,
    /** @type {Record<string, unknown>} */ row,
  ) =>
    dimensions.every((column) => row[column] === undefined || String(row[column]) === entry[column])
  return (row) => sorted.filter((entry) => isAbout(entry, row))
}

/**
 * What competitors charge, and how much more or less that is than ours.
 *
 * @param {CompetitorPrice[]} entries
 * @param {number} ours
 */
export function competitorCell(entries, ours) {
  if (entries.length === 0) return '–'
  const items = entries.map((entry) => itemOf(entry, ours))
  const more = items.slice(shownMax)
  return el(
    'div',
    {},
    el('ul', { class: 'plain' }, items.slice(0, shownMax)),
    more.length > 0 &&
      el(
        'details',
        {},
        el('summary', {}, `${format.count(more.length)} more`),
        el('ul', { class: 'plain' }, more),
      ),
  )
}

/**
 * @param {CompetitorPrice} entry
 * @param {number} ours
 */
function itemOf({ competitor_name, competitor_price, departure_date, latest_update }, ours) {
  const tone = competitor_price < ours ? 'cheaper' : 'dearer'
  return el(
    'li',
    { title: `recorded ${format.moment(latest_update)}` },
    name(competitor_name),
    departure_date ? ` ${format.day(departure_date)} ` : ' ',
    el('span', { class: 'value' }, format.price(competitor_price)),
    ' ',
    ours > 0 &&
      el('span', { class: `difference ${tone}` }, format.compared(competitor_price, ours)),
  )
}
