import { post } from '../api.js'
import { el, name, svg } from '../dom.js'
import * as format from '../format.js'
import { heatOf, rangeOf } from '../heat.js'
import { fill } from '../states.js'

/** @typedef {import('./prices-of-code.js').PriceRow} PriceRow */
/** @typedef {import('./prices-of-code.js').Wanted & { date: string }} Wanted */

const horizonDays = 365
const stripsAtOnce = 6

/**
 * The year of each row as a strip with one bar a day, the first rows at once and others on request.
 *
 * @param {Wanted} wanted
 * @param {PriceRow[]} rows
 * @param {import('../api.js').Schemas['CatalogSchema']} schema
 * @param {AbortSignal} signal
 * @param {(day: string) => void} goTo
 */
export function calendarStrips(wanted, rows, { extensions }, signal, goTo) {
  const section = el('section', { class: 'panel' }, el('h2', {}, 'The year'))
  const days = format.daysFrom(wanted.list.valid_from, horizonDays)
  const showFrom = (/** @type {number} */ first) => {
    const shown = rows.slice(first, first + stripsAtOnce)
    const place = el('div', {})
    const rest = rows.length - first - shown.length
    const more = el(
      'button',
      {
        type: 'button',
        onclick: () => {
          more.remove()
          showFrom(first + stripsAtOnce)
        },
      },
      `Show ${format.count(Math.min(rest, stripsAtOnce))} more of ${format.count(rest)}`,
    )
    section.append(place)
    void fill(place, signal, async () => {
      const years = await readYears(wanted, shown, extensions, days, signal)
      return shown.map((row, index) =>
        strip(titleOf(row, extensions), days, years[index] ?? [], wanted.date, goTo),
      )
    }).then(() => rest > 0 && section.append(more))
  }
  showFrom(0)
  return section
}

/**
 * The price in force of each row and day; a year is one read.
 *
 * @param {Wanted} wanted
 * @param {PriceRow[]} rows
 * @param {{ name: string }[]} extensions
 * @param {string[]} days
 * @param {AbortSignal} signal
 * @returns {Promise<number[][]>}
 */
async function readYears({ code, list, on }, rows, extensions, days, signal) {
  const payload = rows.flatMap((row) => {
    const key = Object.fromEntries(extensions.map((column) => [column.name, row[column.name]]))
    return days.map((date) => ({
      code,
      extensions: key,
      price_dimension: row.price_dimension,
      date,
    }))
  })
  const body = { price_list_id: list.id, promotion_date: on, payload }
  /** @type {PriceRow[]} */
  const prices = await post('/api/v1/prices/get_prices/', body, signal)
  return rows.map((_, index) =>
    prices.slice(index * days.length, (index + 1) * days.length).map((row) => row.active_price),
  )
}

/**
 * @param {PriceRow} row
 * @param {{ name: string }[]} extensions
 */
function titleOf(row, extensions) {
  return [...extensions.map((column) => row[column.name]), row.price_dimension].join(', ')
}

/**
 * @param {string} title
 * @param {string[]} days
 * @param {number[]} prices
 * @param {string} date
 * @param {(day: string) => void} goTo
 */
function strip(title, days, prices, date, goTo) {
  const { low, high, lowAt, highAt } = rangeOf(prices)
  const words =
    high === 0
      ? 'no prices are set'
      : `${format.price(low)} (${format.day(days[lowAt] ?? '')}) to ${format.price(high)} (${format.day(days[highAt] ?? '')})`
  const output = el('output', {})
  const cursor = el('input', {
    type: 'range',
    min: 0,
    max: days.length - 1,
    value: Math.max(0, days.indexOf(date)),
    'aria-label': `Day, ${title}`,
  })
  const read = () => {
    const at = Number(cursor.value)
    const text = `${format.day(days[at] ?? '')}: ${format.price(prices[at])}`
    output.textContent = text
    cursor.setAttribute('aria-valuetext', text)
  }
  cursor.addEventListener('input', read)
  cursor.addEventListener('change', () => goTo(days[Number(cursor.value)] ?? date))
  read()
  return el(
    'figure',
    { class: 'strip' },
    el('figcaption', {}, el('strong', {}, name(title)), el('span', { class: 'hint' }, words)),
    bars(days, prices, `${title}, price by day: ${words}`),
    cursor,
    months(days),
    output,
  )
}

/**
 * @param {string[]} days
 * @param {number[]} prices
 * @param {string} label
 */
function bars(days, prices, label) {
  const heat = heatOf(prices)
  return svg(
    'svg',
    {
      class: 'bars',
      role: 'img',
      'aria-label': label,
      viewBox: `0 0 ${days.length} 10`,
      preserveAspectRatio: 'none',
    },
    days.map((day, index) =>
      svg(
        'rect',
        { x: index, width: 1.05, height: 10, class: `heat-${heat[index] ?? 0}` },
        svg('title', {}, `${format.day(day)}: ${format.price(prices[index])}`),
      ),
    ),
  )
}

/** @param {string[]} days */
function months(days) {
  const firsts = days.flatMap((day, index) => (day.endsWith('-01') ? [{ day, index }] : []))
  return svg(
    'svg',
    { class: 'months', 'aria-hidden': 'true' },
    firsts.map(({ day, index }) =>
      svg(
        'text',
        { x: `${((index + 1) / days.length) * 100}%`, y: 12 },
        svg('tspan', { class: 'long' }, format.month(day)),
        svg('tspan', { class: 'short' }, format.month(day).slice(0, 1)),
      ),
    ),
  )
}
