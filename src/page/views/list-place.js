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
 * The list on display; `show` moves to another place in it and focuses an element there. `search` is its search field.
 *
 * @typedef {{ list: PriceList, show: (place: Place, focused: string) => void, search: HTMLElement }} Shown
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
 * A search field for part of a code or text. It stays while rows are shown again, with what is typed meanwhile.
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
 * @param {Shown} shown
 * @param {Place} place
 */
export function dayField({ list, show }, place) {
  const { valid_from: min } = list
  const range = { min, max: format.daysFrom(min, 365).at(-1), required: true }
  const attributes = { name: 'date', value: place.date ?? min, ...range }
  const onDay = (/** @type {string} */ date) =>
    show({ ...place, page: 1, date }, 'input[name=date]')
  return dateField('Day', attributes, onDay).element
}

/**
 * A field for a past day, shown as of its end; today and an empty field mean now.
 *
 * @param {Shown} shown
 * @param {Place} place
 */
export function asOfField({ show }, place) {
  const range = { min: '2000-01-01', max: format.today() }
  const attributes = { name: 'as_of', value: place.asOf ?? '', ...range }
  const onDay = (/** @type {string} */ day) => {
    const asOf = format.endOf(day) && day
    show({ ...place, page: 1, asOf }, 'input[name=as_of]')
  }
  return dateField('As of (UTC)', attributes, onDay).element
}
