import { dateField } from '../date-field.js'
import { debounced, el, labelled } from '../dom.js'
import * as format from '../format.js'
import { href } from '../routes.js'

/** @typedef {import('../api.js').Schemas['PriceList']} PriceList */

/**
 * Which rows are shown; their order uses the price or margin of `dimension`.
 *
 * @typedef {{ page: number, date: string | undefined, asOf: string | undefined, contains: string, order: string,
 *   dimension: string }} Place
 */

/**
 * The list on display; `title` says how many rows it has, and `show` moves to another place in it.
 *
 * @typedef {{ list: PriceList, title: HTMLElement, show: (change: Partial<Place>) => void }} Shown
 */

/**
 * The URL fragment of a place.
 *
 * @param {PriceList} list
 * @param {Place} place
 */
export function placeOf(list, { page, date, asOf, contains, order, dimension }) {
  const first = page === 1 ? undefined : page
  const values = { page: first, date, as_of: asOf, contains, order, price_dimension: dimension }
  return href(`lists/${list.id}`, values)
}

/**
 * A search field for part of a code or text.
 *
 * @param {(contains: string) => void} onSearch
 * @param {string} contains
 */
export function searchField(onSearch, contains) {
  const input = el('input', {
    type: 'search',
    dir: 'auto',
    value: contains,
    maxlength: 255,
    placeholder: 'Part of a code or text',
    oninput: debounced(() => onSearch(input.value)),
  })
  return labelled('Search', input)
}

/**
 * A field for the day to show of a calendar list.
 *
 * @param {PriceList} list
 * @param {string | undefined} date
 * @param {(date: string) => void} onDay
 */
export function dayField({ valid_from: min }, date, onDay) {
  const range = { min, max: format.daysFrom(min, 365).at(-1), required: true }
  return dateField('Day', { name: 'date', value: date ?? min, ...range }, onDay).element
}

/**
 * A field for a past day, shown as of its end; today and an empty field mean now.
 *
 * @param {string | undefined} asOf
 * @param {(asOf: string | undefined) => void} onDay
 */
export function asOfField(asOf, onDay) {
  const range = { min: '2000-01-01', max: format.today() }
  const attributes = { name: 'as_of', value: asOf ?? '', ...range }
  return dateField('As of (UTC)', attributes, (day) => onDay(format.endOf(day) && day)).element
}
