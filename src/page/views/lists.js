import { getPage } from '../api.js'
import { announce, debounced, el, name } from '../dom.js'
import * as format from '../format.js'
import { href } from '../routes.js'
import { empty, refilling } from '../states.js'
import { table } from '../table.js'

/** @typedef {import('../api.js').Schemas['PriceList']} PriceList */

const path = '/api/v1/price_list/'
const shownMax = 200

/** @type {import('../main.js').View<{ search: string }>} */
export function showLists(main, { search }, signal) {
  const place = el('div', { class: 'panel' })
  const refill = refilling(place, signal)
  const input = el('input', {
    type: 'search',
    dir: 'auto',
    value: search,
    maxlength: 255,
    placeholder: 'Part of a name',
    oninput: debounced(() => {
      if (signal.aborted) return
      history.replaceState(null, '', href('lists', { q: input.value }))
      load()
    }),
  })
  const load = () => void refill((current) => listsOf(input.value, current))
  main.replaceChildren(
    el(
      'div',
      { class: 'heading' },
      el('h1', {}, 'Price lists'),
      el('label', { class: 'search' }, el('span', {}, 'Search'), input),
    ),
    place,
  )
  load()
}

/**
 * @param {string} search
 * @param {AbortSignal} signal
 */
async function listsOf(search, signal) {
  const query = { search, limit: shownMax, include: 'row_count' }
  const { count, results } = await getPage(path, query, signal)
  announce(format.counted(count, 'price list'))
  if (count > 0) return [summary(count, results.length), listTable(results, count > results.length)]
  return search === ''
    ? empty(
        'There are no price lists yet.',
        'Create the first one with ',
        el('a', { href: 'docs#/Price%20lists/createPriceLists' }, 'bulk_create'),
        '.',
      )
    : empty('No price list has this name.', 'Search for another part of its name.')
}

/**
 * @param {number} count
 * @param {number} shown
 */
function summary(count, shown) {
  const text =
    count > shown
      ? `The first ${format.count(shown)} of ${format.count(count)}; search to see others`
      : `${format.count(count)} in all`
  return el('p', { class: 'hint' }, text)
}

/** @param {PriceList[]} lists @param {boolean} isPart */
function listTable(lists, isPart) {
  return table({
    caption: 'Price lists',
    rows: lists,
    isPart,
    columns: [
      { label: 'Name', sort: (list) => list.name, cell: nameOf },
      { label: 'Kind', sort: kindOf, cell: (list) => kindOf(list), isWide: true },
      { label: 'Valid', sort: (list) => list.valid_from, cell: validity, isWide: true },
      {
        label: 'Rows',
        sort: ({ row_count = 0 }) => row_count,
        cell: ({ row_count = 0 }) => format.count(row_count),
        isNumber: true,
      },
      {
        label: 'Published',
        sort: (list) => Date.parse(list.published_at ?? '') || 0,
        cell: publication,
      },
    ],
  })
}

/** @param {PriceList} list */
function nameOf(list) {
  return [
    el('a', { class: 'strong', href: href(`lists/${list.id}`) }, name(list.name)),
    ' ',
    stateBadge(list),
    list.description && el('span', { class: 'sub' }, name(list.description)),
    el('span', { class: 'sub narrow' }, validity(list)),
  ]
}

/** @param {PriceList} list */
export function kindOf({ is_calendar, price_dimensions }) {
  const dimensions =
    price_dimensions.length > 1 ? `${price_dimensions.length} price columns` : 'one price'
  return is_calendar ? `by day, ${dimensions}` : dimensions
}

/** @param {PriceList} list */
export function validity({ valid_from, valid_to }) {
  return `${format.day(valid_from)} – ${format.day(valid_to)}`
}

/** Marks a list whose prices do not apply today. @param {PriceList} list */
export function stateBadge({ state }) {
  if (state === 'current') return ''
  const look = state === 'expired' ? 'failed' : 'progress'
  return el('span', { class: `badge ${look}` }, state)
}

/** @param {PriceList} list */
export function publication({ published_at }) {
  if (!published_at) return el('span', { class: 'badge' }, 'not yet')
  return el(
    'time',
    { datetime: published_at, title: format.moment(published_at) },
    format.ago(published_at),
  )
}
