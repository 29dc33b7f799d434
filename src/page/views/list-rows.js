import { get } from '../api.js'
import { announce, el, name } from '../dom.js'
import * as format from '../format.js'
import { href } from '../routes.js'
import { empty } from '../states.js'
import { table } from '../table.js'
import { unpricedOf } from './unpriced.js'

/** @typedef {import('../api.js').Schemas['PriceList']} PriceList */
/** @typedef {import('../api.js').Schemas['PriceListRow']} PriceListRow */

const rowsAtOnce = 50

/** @typedef {Awaited<ReturnType<typeof unpricedOf>>} IsUnpriced */
/** @typedef {{ page: number, date: string | undefined, asOf: string | undefined }} Place */

/**
 * One page of the rows of a list, or the last page if there are fewer; one day of a calendar list, as it was at the end of
 * a day.
 *
 * @param {PriceList} list
 * @param {Place} place
 * @param {AbortSignal} signal
 */
export async function rowsOf(list, place, signal) {
  const { page, date, asOf } = place
  const path = `/api/v1/price_list/${list.id}/rows`
  const query = {
    offset: (page - 1) * rowsAtOnce,
    limit: rowsAtOnce,
    date: list.is_calendar ? date : undefined,
    as_of: format.endOf(asOf),
  }
  const [{ count, results }, { extensions }] = await Promise.all([
    get(path, query, signal),
    get('/api/v1/product_catalog/schema/', {}, signal),
  ])
  announce(`${format.count(count)} rows`)
  if (count === 0) return emptyRows(list)
  const pages = Math.ceil(count / rowsAtOnce)
  if (page > pages) return rowsOf(list, { ...place, page: pages }, signal)
  const moment = {
    as_of: query.as_of,
    date: list.is_calendar ? (date ?? list.valid_from) : undefined,
  }
  const isUnpriced = await unpricedOf(list, results, extensions, moment, signal)
  return [
    el(
      'div',
      { class: 'heading' },
      el(
        'div',
        {},
        el('h2', {}, `${format.count(count)} rows`),
        el('span', { class: 'hint' }, 'published prices, before promotions'),
      ),
      el(
        'div',
        { class: 'choice' },
        list.is_calendar && dayField(list, place),
        list.is_published && asOfField(asOf, (day) => open(list, { ...place, asOf: day })),
      ),
    ),
    rowTable(list, results, { extensions, isUnpriced }, place),
    pager(list, place, pages),
  ].filter((node) => node instanceof Node)
}

/** @param {PriceList} list */
function emptyRows(list) {
  return list.is_published
    ? empty('This list has no rows.', 'Add products to it, or sync it with the catalog.')
    : empty('This list is not published yet.', 'Adding products to it publishes it.')
}

/**
 * @param {PriceList} list
 * @param {PriceListRow[]} rows
 * @param {{ extensions: { name: string }[], isUnpriced: IsUnpriced }} about
 * @param {Place} place
 */
function rowTable(list, rows, { extensions, isUnpriced }, { date, asOf }) {
  const of = (/** @type {PriceListRow} */ row) =>
    href('prices', { code: row.code, list: list.id, date, as_of: asOf })
  return table({
    caption: `Rows of ${list.name}`,
    rows,
    columns: [
      {
        label: 'Product',
        sort: ({ code }) => code,
        cell: (row) => [
          el('a', { class: 'strong', href: of(row) }, name(row.code)),
          el(
            'span',
            { class: 'sub narrow' },
            name(extensions.map((column) => row[column.name]).join(', ')),
          ),
        ],
      },
      ...extensions.map((column) => ({
        label: column.name,
        isWide: true,
        sort: (/** @type {PriceListRow} */ row) => sortable(row[column.name]),
        cell: (/** @type {PriceListRow} */ row) => name(row[column.name]),
      })),
      ...list.price_dimensions.flatMap((dimension) => {
        const [price, margin] = priceColumns(list, dimension, isUnpriced)
        // Costs have no history.
        return asOf === undefined ? [price, margin] : [price]
      }),
    ],
  })
}

/**
 * @param {PriceList} list
 * @param {string} dimension
 * @param {IsUnpriced} isUnpriced
 * @returns {[import('../table.js').Column<PriceListRow>, import('../table.js').Column<PriceListRow>]}
 */
function priceColumns({ price_dimensions }, dimension, isUnpriced) {
  const isFirst = price_dimensions[0] === dimension
  return [
    {
      label: dimension,
      isNumber: true,
      isWide: !isFirst,
      sort: ({ prices }) => prices?.[dimension] ?? 0,
      cell: (row) =>
        isUnpriced(row, dimension)
          ? el('span', { class: 'hint' }, format.unset)
          : format.price(row.prices?.[dimension]),
    },
    {
      label: price_dimensions.length > 1 ? `${dimension} margin` : 'margin',
      isNumber: true,
      isWide: true,
      sort: ({ margin }) => margin?.[dimension] ?? Number.NEGATIVE_INFINITY,
      cell: ({ margin }) => format.margin(margin?.[dimension]),
    },
  ]
}

/** @param {unknown} value */
function sortable(value) {
  return typeof value === 'number' ? value : String(value)
}

/**
 * Shows rows of a list at another place.
 *
 * @param {PriceList} list
 * @param {Partial<Place>} place
 */
function open(list, { page, date, asOf }) {
  location.hash = href(`lists/${list.id}`, { page, date, as_of: asOf })
}

/**
 * A field for the day at whose end the past is read; today and an empty field mean now.
 *
 * @param {string | undefined} asOf
 * @param {(day: string | undefined) => void} onDay
 */
export function asOfField(asOf, onDay) {
  const input = el('input', {
    type: 'date',
    value: asOf ?? '',
    max: format.today(),
    onchange: () => {
      if (input.checkValidity()) onDay(format.endOf(input.value) && input.value)
    },
  })
  return el('label', {}, el('span', {}, 'As of'), input)
}

/**
 * @param {PriceList} list
 * @param {Place} place
 */
function dayField(list, place) {
  const last = format.daysFrom(list.valid_from, 365).at(-1)
  const input = el('input', {
    type: 'date',
    value: place.date ?? list.valid_from,
    min: list.valid_from,
    max: last,
    onchange: () => {
      if (input.checkValidity() && input.value) open(list, { date: input.value, asOf: place.asOf })
    },
  })
  return el('label', {}, el('span', {}, 'Day'), input)
}

/**
 * @param {PriceList} list
 * @param {Place} place
 * @param {number} pages
 */
function pager(list, { page, date, asOf }, pages) {
  if (pages === 1) return undefined
  const to = (/** @type {number} */ number, /** @type {string} */ text) =>
    number < 1 || number > pages
      ? el('span', { class: 'off' }, text)
      : el('a', { href: href(`lists/${list.id}`, { page: number, date, as_of: asOf }) }, text)
  return el(
    'nav',
    { class: 'pager', 'aria-label': 'Pages' },
    to(page - 1, '← Previous'),
    el('span', {}, `Page ${format.count(page)} of ${format.count(pages)}`),
    to(page + 1, 'Next →'),
  )
}
