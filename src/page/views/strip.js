import { el, names, svg } from '../dom.js'
import * as format from '../format.js'
import { heatOf, rangeOf, steps } from '../heat.js'

/** @typedef {{ element: HTMLElement, setDay: (day: string) => void }} Strip */

/**
 * A year with a bar for each day and one marked day; `onDay` gets a newly chosen day.
 *
 * @param {unknown[]} title
 * @param {string[]} days
 * @param {(number | null)[]} prices
 * @param {(day: string) => void} onDay
 * @returns {Strip}
 */
export function strip(title, days, prices, onDay) {
  const words = rangeWords(days, prices)
  const output = el('output', {})
  const attributes = { min: 0, max: days.length - 1, 'aria-label': `Day, ${title.join(', ')}` }
  const oninput = () => onDay(days[Number(cursor.value)] ?? '')
  const cursor = el('input', { type: 'range', ...attributes, oninput })
  const line = svg('line', { y1: 0, y2: 10, class: 'mark' })
  const setDay = (/** @type {string} */ day) => {
    const at = Math.max(0, days.indexOf(day))
    const text = `${format.day(day)}: ${priceOf(prices[at])}`
    cursor.value = String(at)
    cursor.setAttribute('aria-valuetext', text)
    output.textContent = text
    for (const end of ['x1', 'x2']) line.setAttribute(end, String(at + 0.5))
  }
  const element = el(
    'figure',
    { class: 'strip' },
    el('figcaption', {}, el('strong', {}, names(title)), output),
    el('p', { class: 'hint' }, words),
    scale(prices),
    bars(days, prices, line, `${title.join(', ')}, price by day: ${words}`),
    months(days),
    cursor,
  )
  return { element, setDay }
}

/**
 * @param {string[]} days
 * @param {(number | null)[]} prices
 */
function rangeWords(days, prices) {
  const { low, high, lowAt, highAt } = rangeOf(prices)
  if (lowAt < 0) return 'no prices are set'
  if (low === high) return format.price(low)
  const at = (/** @type {number} */ price, /** @type {number} */ index) =>
    `${format.price(price)} (${format.day(days[index] ?? '')})`
  return `${at(low, lowAt)} to ${at(high, highAt)}`
}

/** The colors from the lowest price to the highest. @param {(number | null)[]} prices */
function scale(prices) {
  const { low, high } = rangeOf(prices)
  if (low === high) return null
  const colours = Array.from({ length: steps }, (_, step) =>
    svg('rect', { x: step * 12, width: 12, height: 12, fill: `var(--heat-${step + 1})` }),
  )
  return el(
    'p',
    { class: 'hint scale', 'aria-hidden': 'true' },
    format.price(low),
    svg('svg', { width: steps * 12, height: 12 }, colours),
    format.price(high),
  )
}

/**
 * @param {string[]} days
 * @param {(number | null)[]} prices
 * @param {Element} line
 * @param {string} label
 */
function bars(days, prices, line, label) {
  const heat = heatOf(prices)
  const attributes = { class: 'bars', role: 'img', 'aria-label': label }
  return svg(
    'svg',
    { ...attributes, viewBox: `0 0 ${days.length} 10`, preserveAspectRatio: 'none' },
    days.map((day, index) =>
      svg(
        'rect',
        { x: index, width: 1.05, height: 10, fill: `var(--heat-${heat[index] ?? 0})` },
        svg('title', {}, `${format.day(day)}: ${priceOf(prices[index])}`),
      ),
    ),
    line,
  )
}

/** @param {number | null | undefined} price */
const priceOf = (price) => (price === null ? format.unset : format.price(price))

/** A tick and a label for each month. @param {string[]} days */
function months(days) {
  const firsts = days.flatMap((day, index) => (day.endsWith('-01') ? [{ day, index }] : []))
  return svg(
    'svg',
    { class: 'months', 'aria-hidden': 'true' },
    firsts.flatMap(({ day, index }) => {
      const at = `${(index / days.length) * 100}%`
      return [
        svg('line', { x1: at, x2: at, y1: 0, y2: 5 }),
        svg(
          'text',
          { x: at, y: 16 },
          svg('tspan', { class: 'long' }, format.month(day)),
          svg('tspan', { class: 'short' }, format.month(day).slice(0, 1)),
        ),
      ]
    }),
  )
}
