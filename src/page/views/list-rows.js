import { Failure, get } from '../api.js'
import { announce, el, name, names } from '../dom.js'
import * as format from '../format.js'
import { href } from '../routes.js'
import { empty } from '../states.js'
import { pager, table } from '../table.js'
import { placeOf } from './list-place.js'
import { unpricedOf } from './unpriced.js'

/** @typedef {import('../api.js').Schemas['PriceList']} PriceList */
/** @typedef {import('../api.js').Schemas['PriceListRow']} PriceListRow */
/** @typedef {import('./list-place.js').Place} Place */
/** @typedef {import('./list-place.js').Shown} Shown */

const rowsAtOnce = 50

/** @typedef {Awaited<ReturnType<typeof unpricedOf>>} IsUnpriced */

/** The last page of an ordered list; to see more, narrow the list or reverse the order. */
const orderedPages = 201
/** The service looks up margins, and prices of a day or of the past, for at most this many rows. */
const lookedUpMax = 100_000

/**
 * One page of a list's rows, or the last page if there are fewer; for one day of a calendar list, and as of the end of
 * a past day.
 *
 * @param {Shown} shown
 * @param {Place} place
 * @param {AbortSignal} signal
 */
export async function rowsOf(shown, place, signal) {
  const { list, title } = shown
  const { page, date, asOf, contains, order, dimension } = place
  // Margins have no history.
  if (asOf !== undefined && order.endsWith('margin'))
    return rowsOf(shown, { ...place, order: '', dimension: '' }, signal)
  const path = `/api/v1/price_list/${list.id}/rows`
  const query = {
    offset: (page - 1) * rowsAtOnce,
    limit: rowsAtOnce,
    date: list.is_calendar ? date : undefined,
    as_of: format.endOf(asOf),
    contains,
    order,
    price_dimension: dimension,
  }
  const read = get(path, query, signal).catch((error) => {
    // The order was chosen while a search left fewer rows.
    if (error instanceof Failure && error.type === 'too-costly' && order !== '') return undefined
    if (!signal.aborted) title.textContent = 'Rows'
    throw error
  })
  const [found, { extensions }] = await Promise.all([
    read,
    get('/api/v1/product_catalog/schema/', {}, signal),
  ])
  if (!found) return rowsOf(shown, { ...place, order: '', dimension: '' }, signal)
  const { count, results } = found
  const counted = format.counted(count, 'row')
  announce(counted)
  const all = Math.ceil(count / rowsAtOnce)
  const pages = Math.max(1, order === '' ? all : Math.min(all, orderedPages))
  if (page > pages) return rowsOf(shown, { ...place, page: pages }, signal)
  const moment = {
    as_of: query.as_of,
    date: list.is_calendar ? (date ?? list.valid_from) : undefined,
  }
  const isUnpriced = await unpricedOf(list, results, extensions, moment, signal)
  title.textContent = counted
  return [
    count === 0
      ? noRows(list, place)
      : rowTable(shown, { rows: results, extensions, isUnpriced, count }, place),
    pager(page, pages, (page) => placeOf(list, { ...place, page })),
    pages < all &&
      el(
        'p',
        { class: 'hint' },
        `The first ${format.count(pages * rowsAtOnce)} in this order; search, or turn the order round, to see others`,
      ),
  ]
}

/** @param {PriceList} list @param {Place} place */
function noRows({ is_published }, { contains, asOf }) {
  if (contains !== '')
    return empty('No row contains this.', 'Search for another part of a code or a text.')
  if (asOf !== undefined) return empty('The list had no rows on this day.', 'Take a later day.')
  return is_published
    ? empty('This list has no rows.', 'Add products to it, or sync it with the catalog.')
    : empty('This list is not published yet.', 'Adding products to it publishes it.')
}

/**
 * @param {Shown} shown
 * @param {{ rows: PriceListRow[], extensions: { name: string }[], isUnpriced: IsUnpriced, count: number }} found
 * @param {Place} place
 */
function rowTable(shown, { rows, extensions, isUnpriced, count }, place) {
  const { list } = shown
  const { asOf } = place
  const date = list.is_calendar ? (place.date ?? list.valid_from) : undefined
  const of = (/** @type {PriceListRow} */ row) =>
    href('prices', { code: row.code, list: list.id, date, as_of: asOf })
  return table({
    caption: `Rows of ${list.name}`,
    rows,
    served: servedOrder(shown, place),
    columns: [
      {
        label: 'Product',
        order: 'code',
        cell: (row) => [
          el('a', { class: 'strong', href: of(row) }, name(row.code)),
          el('span', { class: 'sub narrow' }, names(extensions.map((column) => row[column.name]))),
        ],
      },
      ...extensions.map((column) => ({
        label: column.name,
        isWide: true,
        cell: (/** @type {PriceListRow} */ row) => name(row[column.name]),
      })),
      ...list.price_dimensions.flatMap((_, index) => {
        const [price, margin] = priceColumns(list, index, place, { isUnpriced, count })
        // Costs have no history.
        return asOf === undefined ? [price, margin] : [price]
      }),
    ],
  })
}

/**
 * The order of a column names its price dimension by index: `price 1` is the price of the second one.
 *
 * @param {Shown} shown
 * @param {Place} place
 * @returns {import('../table.js').ServedOrder}
 */
function servedOrder({ list, show }, place) {
  const { price_dimensions: names } = list
  const index = Math.max(0, names.indexOf(place.dimension))
  const order = /price|margin/.test(place.order) ? `${place.order} ${index}` : place.order
  const reorder = (/** @type {string} */ chosen) => {
    const [order = '', index] = chosen.split(' ')
    const dimension = names.length > 1 && index !== undefined ? (names[Number(index)] ?? '') : ''
    show({ order, dimension })
  }
  return { order, open: reorder }
}

/**
 * @param {PriceList} list
 * @param {number} index
 * @param {Place} place
 * @param {{ isUnpriced: IsUnpriced, count: number }} found
 * @returns {[import('../table.js').Column<PriceListRow>, import('../table.js').Column<PriceListRow>]}
 */
function priceColumns({ price_dimensions, is_calendar }, index, { asOf }, { isUnpriced, count }) {
  const dimension = price_dimensions[index] ?? ''
  const isFew = count <= lookedUpMax
  const isOrdered = isFew || (!is_calendar && asOf === undefined)
  return [
    {
      label: dimension,
      isNumber: true,
      ...(isOrdered && { order: `price ${index}` }),
      cell: (row) =>
        isUnpriced(row, dimension)
          ? el('span', { class: 'hint' }, format.unset)
          : format.price(row.prices?.[dimension]),
    },
    {
      label: price_dimensions.length > 1 ? `${dimension} margin` : 'margin',
      isNumber: true,
      ...(isFew && { order: `margin ${index}` }),
      cell: ({ margin }) => format.margin(margin?.[dimension]),
    },
  ]
}
