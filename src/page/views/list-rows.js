import { get } from '../api.js'
import { announce, el, name } from '../dom.js'
import * as format from '../format.js'
import { href } from '../routes.js'
import { empty } from '../states.js'
import { table } from '../table.js'

/** @typedef {import('../api.js').Schemas['PriceList']} PriceList */
/** @typedef {import('../api.js').Schemas['PriceListRow']} PriceListRow */

const rowsAtOnce = 50

/**
 * One page of the rows of a list, or the last page if there are fewer; one day of a calendar list.
 *
 * @param {PriceList} list
 * @param {number} page
 * @param {string | undefined} date
 * @param {AbortSignal} signal
 */
export async function rowsOf(list, page, date, signal) {
  const path = `/api/v1/price_list/${list.id}/rows`
  const query = {
    offset: (page - 1) * rowsAtOnce,
    limit: rowsAtOnce,
    date: list.is_calendar ? date : undefined,
  }
  const [{ count, results }, { extensions }] = await Promise.all([
    get(path, query, signal),
    get('/api/v1/product_catalog/schema/', {}, signal),
  ])
  announce(`${format.count(count)} rows`)
  if (count === 0) return emptyRows(list)
  const pages = Math.ceil(count / rowsAtOnce)
  if (page > pages) return rowsOf(list, pages, date, signal)
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
      list.is_calendar && dayField(list, date),
    ),
    rowTable(list, results, extensions, date),
    pager(list, page, pages, date),
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
 * @param {{ name: string }[]} extensions
 * @param {string | undefined} date
 */
function rowTable(list, rows, extensions, date) {
  const of = (/** @type {PriceListRow} */ row) =>
    href('prices', { code: row.code, list: list.id, date })
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
      ...list.price_dimensions.flatMap((dimension) => priceColumns(list, dimension)),
    ],
  })
}

/**
 * @param {PriceList} list
 * @param {string} dimension
 * @returns {import('../table.js').Column<PriceListRow>[]}
 */
function priceColumns({ price_dimensions }, dimension) {
  const isFirst = price_dimensions[0] === dimension
  return [
    {
      label: dimension,
      isNumber: true,
      isWide: !isFirst,
      sort: ({ prices }) => prices?.[dimension] ?? 0,
      cell: ({ prices }) => format.price(prices?.[dimension]),
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
 * @param {PriceList} list
 * @param {string | undefined} date
 */
function dayField(list, date) {
  const last = format.daysFrom(list.valid_from, 365).at(-1)
  const input = el('input', {
    type: 'date',
    value: date ?? list.valid_from,
    min: list.valid_from,
    max: last,
    onchange: () => {
      if (input.checkValidity() && input.value)
        location.hash = href(`lists/${list.id}`, { date: input.value })
    },
  })
  return el('label', {}, el('span', {}, 'Day'), input)
}

/**
 * @param {PriceList} list
 * @param {number} page
 * @param {number} pages
 * @param {string | undefined} date
 */
function pager(list, page, pages, date) {
  if (pages === 1) return undefined
  const to = (/** @type {number} */ number, /** @type {string} */ text) =>
    number < 1 || number > pages
      ? el('span', { class: 'off' }, text)
      : el('a', { href: href(`lists/${list.id}`, { page: number, date }) }, text)
  return el(
    'nav',
    { class: 'pager', 'aria-label': 'Pages' },
    to(page - 1, '← Previous'),
    el('span', {}, `Page ${format.count(page)} of ${format.count(pages)}`),
    to(page + 1, 'Next →'),
  )
}
