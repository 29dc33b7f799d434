import { post } from '../api.js'
import { debounced, el } from '../dom.js'
import * as format from '../format.js'
import { fill } from '../states.js'
import { strip } from './strip.js'

/** @typedef {import('./prices-of-code.js').PriceRow} PriceRow */
/** @typedef {import('./prices-of-code.js').Wanted & { date: string }} Wanted */

const horizonDays = 365
const stripsAtOnce = 6

/**
 * A strip for each row that shows its year, a bar per day. Shows the first rows, and more on request. One day is marked
 * in all strips; `onDay` gets a newly chosen one.
 *
 * @param {Wanted} wanted
 * @param {PriceRow[]} rows
 * @param {import('../api.js').Schemas['CatalogSchema']} schema
 * @param {AbortSignal} signal
 * @param {(day: string) => void} onDay
 */
export function calendarStrips(wanted, rows, { extensions }, signal, onDay) {
  const days = format.daysFrom(wanted.list.valid_from, horizonDays)
  /** @type {import('./strip.js').Strip[]} */
  const strips = []
  let marked = wanted.date
  const tell = debounced(() => signal.aborted || onDay(marked))
  const mark = (/** @type {string} */ day) => {
    marked = day
    for (const one of strips) one.setDay(day)
    tell()
  }
  const read = async (/** @type {number} */ from) => {
    const shown = rows.slice(from, from + stripsAtOnce)
    const years = await readYears(wanted, shown, extensions, days, signal)
    const added = shown.map((row) =>
      strip(titleOf(row, extensions), days, years.get(keyOf(row)) ?? [], mark),
    )
    for (const one of added) one.setDay(marked)
    strips.push(...added)
    return added.map(({ element }) => element)
  }
  const section = el('section', { class: 'panel' }, el('h2', {}, 'The year'))
  showInParts(section, rows.length, signal, read)
  return section
}

/**
 * Shows the first rows and a button for more.
 *
 * @param {Element} section
 * @param {number} count
 * @param {AbortSignal} signal
 * @param {(from: number) => Promise<Node[]>} read
 */
function showInParts(section, count, signal, read, from = 0) {
  const place = el('div', { class: 'strips' })
  section.append(place)
  void fill(place, signal, () => read(from)).then(() => {
    const next = from + stripsAtOnce
    if (next >= count) return
    const onclick = () => {
      more.remove()
      showInParts(section, count, signal, read, next)
    }
    const label = `Show ${format.count(Math.min(stripsAtOnce, count - next))} more of ${format.count(count)}`
    const more = el('button', { type: 'button', onclick }, label)
    section.append(more)
  })
}

/**
 * The price in force on each day by row key; null where none was set. A row that has left the list is missing.
 *
 * @param {Wanted} wanted
 * @param {PriceRow[]} rows
 * @param {{ name: string }[]} extensions
 * @param {string[]} days
 * @param {AbortSignal} signal
 * @returns {Promise<Map<string, (number | null)[]>>}
 */
async function readYears({ code, list, on, asOf }, rows, extensions, days, signal) {
  const payload = rows.flatMap((row) => {
    const key = Object.fromEntries(extensions.map((column) => [column.name, row[column.name]]))
    return days.map((date) => ({
      code,
      extensions: key,
      price_dimension: row.price_dimension,
      date,
    }))
  })
  const as_of = format.endOf(asOf)
  const body = {
    price_list_id: list.id,
    promotion_date: on,
    include: ['priced'],
    ...(as_of && { as_of }),
    payload,
  }
  /** @type {PriceRow[]} */
  const prices = await post('/api/v1/prices/get_prices/', body, signal)
  const yearOf = (/** @type {PriceRow[]} */ rows) => {
    const priced = rows.filter((row) => row.priced)
    const byDay = new Map(priced.map((row) => [row.date, row.active_price]))
    return days.map((day) => byDay.get(day) ?? null)
  }
  return new Map([...Map.groupBy(prices, keyOf)].map(([key, rows]) => [key, yearOf(rows)]))
}

/** @param {PriceRow} row */
function keyOf({ extended_catalog_id, price_dimension }) {
  return JSON.stringify([extended_catalog_id, price_dimension])
}

/**
 * @param {PriceRow} row
 * @param {{ name: string }[]} extensions
 */
function titleOf(row, extensions) {
  return [...extensions.map((column) => row[column.name]), row.price_dimension]
}
