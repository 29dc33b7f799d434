import { el } from './dom.js'
import * as format from './format.js'

/** @typedef {import('./dom.js').Child} Child */
/**
 * @template Row
 * @typedef {object} Column
 * @property {string} label
 * @property {(row: Row) => Child | Child[]} cell
 * @property {(row: Row) => string | number} [sort] The sort key of a row, where the table has all rows.
 * @property {string} [order] The service's name for its order, where the table has one page of the rows.
 * @property {boolean} [isNumber]
 * @property {boolean} [isWide] Shown only if there is room.
 */

/**
 * The order of all rows, of which the table shows one page: `-price` is `price`, descending.
 *
 * @typedef {{ order: string | undefined, open: (order: string) => void }} ServedOrder
 */

/**
 * A table that sorts its rows by column, or lets `served` order all rows. With `isPart`, it has only some of the rows
 * and does not sort. With `isCards`, rows become cards on a narrow screen. Pass `order` to the table that replaces this
 * one to keep the sorting.
 *
 * @template Row
 * @param {{ caption: string, columns: Column<Row>[], rows: Row[], isCards?: boolean, isPart?: boolean, order?: Order,
 *   served?: ServedOrder }} options
 */
export function table({ caption, rows, served, isCards = false, isPart = false, ...options }) {
  const { order = served ? servedOrder(options.columns, served) : newOrder() } = options
  const columns = isPart ? options.columns.map(withoutSort) : options.columns
  // Laid out as cards, a table loses its semantics; the roles keep them for screen readers.
  const role = (/** @type {string} */ name) => (isCards ? { role: name } : {})
  const rowOf = (/** @type {Row} */ row) =>
    el(
      'tr',
      role('row'),
      columns.map((column) => dataCell(column, row, role('cell'))),
    )
  const body = el('tbody', role('rowgroup'))
  const show = () => {
    for (const [index, cell] of head.entries()) mark(cell, index === order.index && order)
    body.replaceChildren(...sorted(rows, columns[order.index], order).map(rowOf))
  }
  const sortBy = (/** @type {number} */ index) => {
    order.isDescending = index === order.index && !order.isDescending
    order.index = index
    if (served) served.open(`${order.isDescending ? '-' : ''}${columns[index]?.order}`)
    else show()
  }
  const head = columns.map((column, index) =>
    headCell(column, () => sortBy(index), role('columnheader')),
  )
  show()
  const element = el(
    'table',
    { class: isCards ? 'cards' : '', ...role('table') },
    el('caption', { class: 'unseen' }, caption),
    el('thead', role('rowgroup'), el('tr', role('row'), head)),
    body,
  )
  return el('div', { class: 'scroll' }, element)
}

/**
 * Links to the previous and next page; undefined for a single page.
 *
 * @param {number} page
 * @param {number} pages
 * @param {(page: number) => string} hrefOf
 */
export function pager(page, pages, hrefOf) {
  if (pages === 1) return undefined
  const to = (/** @type {number} */ number, /** @type {string} */ text) =>
    number < 1 || number > pages
      ? el('span', { class: 'off' }, text)
      : el('a', { href: hrefOf(number) }, text)
  return el(
    'nav',
    { class: 'pager', 'aria-label': 'Pages' },
    to(page - 1, '← Previous'),
    el('span', {}, `Page ${format.count(page)} of ${format.count(pages)}`),
    to(page + 1, 'Next →'),
  )
}

/** @typedef {{ index: number, isDescending: boolean }} Order */

/**
 * The original order of the rows.
 *
 * @returns {Order}
 */
export function newOrder() {
  return { index: -1, isDescending: false }
}

/**
 * @param {Column<any>[]} columns
 * @param {ServedOrder} served
 * @returns {Order}
 */
function servedOrder(columns, { order = '' }) {
  const index = columns.findIndex(
    (column) => column.order && column.order === order.replace('-', ''),
  )
  return { index, isDescending: order.startsWith('-') }
}

/**
 * @template Row
 * @param {Column<Row>} column
 * @returns {Column<Row>}
 */
const withoutSort = ({ sort: _, ...column }) => column

/**
 * @param {Column<any>} column
 * @param {() => void} onclick
 * @param {import('./dom.js').Attributes} role
 */
function headCell(column, onclick, role) {
  const isButton = column.sort !== undefined || column.order !== undefined
  const label = isButton ? el('button', { type: 'button', onclick }, column.label) : column.label
  return el('th', { scope: 'col', class: classOf(column), ...role }, label)
}

/**
 * @template Row
 * @param {Column<Row>} column
 * @param {Row} row
 * @param {import('./dom.js').Attributes} role
 */
function dataCell(column, row, role) {
  const attributes = { class: classOf(column), 'data-label': column.label, ...role }
  return el('td', attributes, ...[column.cell(row)].flat())
}

/**
 * @param {Element} cell
 * @param {Order | false} order
 */
function mark(cell, order) {
  if (order) cell.setAttribute('aria-sort', order.isDescending ? 'descending' : 'ascending')
  else cell.removeAttribute('aria-sort')
}

/** @param {Column<any>} column */
function classOf({ isNumber, isWide }) {
  return [isNumber && 'number', isWide && 'wide'].filter(Boolean).join(' ')
}

/**
 * @template Row
 * @param {Row[]} rows
 * @param {Column<Row> | undefined} column
 * @param {Order} order
 */
function sorted(rows, column, { isDescending }) {
  const value = column?.sort
  if (!value) return rows
  const up = [...rows].sort((a, b) => compare(value(a), value(b)))
  return isDescending ? up.reverse() : up
}

const words = new Intl.Collator(undefined, { numeric: true })

/**
 * @param {string | number} a
 * @param {string | number} b
 */
function compare(a, b) {
  return typeof a === 'number' && typeof b === 'number'
    ? a - b
    : words.compare(String(a), String(b))
}
