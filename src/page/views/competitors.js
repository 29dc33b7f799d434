import { get, getPage } from '../api.js'
import { el, name } from '../dom.js'
import * as format from '../format.js'

/** @typedef {import('../api.js').Schemas['CompetitorPrice']} CompetitorPrice */
/**
 * The competitor prices of a row with its attributes and day, cheapest first, old ones last; how many were compared for all
 * rows, and how many exist.
 *
 * @typedef {{ about: (row: Record<string, unknown>) => CompetitorPrice[], compared: number,
 *   count: number }} Competitors
 */

const shownMax = 3
const comparedMax = 10_000
/** In days. */
const ageMax = 30

/** The entry's own fields; the others identify the product. */
const ownFields = [
  'id',
  'hash',
  'competitor_price',
  'competitor_name',
  'departure_date',
  'latest_update',
]

/**
 * Competitor prices for the rows of this code; none if competitor prices do not name codes.
 *
 * @param {string} code
 * @param {AbortSignal} signal
 * @returns {Promise<Competitors>}
 */
export async function competitorsOf(code, signal) {
  const { entries, count } = await readEntries(code, signal)
  const { is_dated } =
    count > 0 ? await get('/api/v1/competitor_prices/schema/', {}, signal) : { is_dated: false }
  const sorted = entries.sort(
    (a, b) => Number(isOld(a)) - Number(isOld(b)) || a.competitor_price - b.competitor_price,
  )
  // Competitor prices hold strings.
  const isAbout = (
    /** @type {CompetitorPrice} */ entry,
    /** @type {Record<string, unknown>} */ row,
  ) =>
    (!is_dated || (entry.departure_date ?? undefined) === row.date) &&
    Object.entries(entry).every(
      ([column, value]) =>
        ownFields.includes(column) || (Object.hasOwn(row, column) && String(row[column]) === value),
    )
  const about = (/** @type {Record<string, unknown>} */ row) =>
    sorted.filter((entry) => isAbout(entry, row))
  return { about, compared: sorted.length, count }
}

/** Whether the service leaves it out of the competition. @param {CompetitorPrice} entry */
const isOld = ({ latest_update }) =>
  Date.parse(latest_update) < Date.parse(format.today()) - ageMax * 86_400_000

/**
 * The competitor prices of a code, up to a limit, and how many exist.
 *
 * @param {string} code
 * @param {AbortSignal} signal
 */
async function readEntries(code, signal) {
  /** @type {CompetitorPrice[]} */
  const entries = []
  for (;;) {
    const query = { code, offset: entries.length, limit: 1000 }
    const { count, results } = await getPage('/api/v1/competitor_prices/', query, signal)
    entries.push(...results)
    const isAll = results.length === 0 || entries.length >= count
    if (isAll || entries.length >= comparedMax) return { entries, count }
  }
}

/**
 * A note that not all competitor prices were compared.
 *
 * @param {Competitors} competitors
 */
export function competitorHint({ compared, count }) {
  if (compared >= count) return ''
  const first = `The first ${format.count(compared)} of ${format.count(count)} competitor prices`
  return el('p', { class: 'hint' }, `${first} are compared; there may be cheaper ones`)
}

/** Explains the percentages beside competitor prices. */
export const competitorLegend = () =>
  el(
    'p',
    { class: 'hint' },
    'Beside each competitor: how far our price in force is above (+) or below (-) theirs. ',
    `Prices older than ${ageMax} days are not compared.`,
  )

/**
 * Competitor prices, each compared with `ours`.
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
function itemOf(entry, ours) {
  const { competitor_name, competitor_price, latest_update } = entry
  const tone = competitor_price < ours ? 'cheaper' : 'dearer'
  return el(
    'li',
    { title: `recorded ${format.moment(latest_update)}` },
    name(competitor_name),
    ' ',
    el('span', { class: 'value' }, format.price(competitor_price)),
    ' ',
    isOld(entry)
      ? el('span', { class: 'hint' }, format.ago(latest_update))
      : ours > 0 &&
          el('span', { class: `difference ${tone}` }, format.compared(ours, competitor_price)),
  )
}
