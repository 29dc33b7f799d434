import { el } from './dom.js'

/** @typedef {import('./dom.js').Child} Child */
/**
 * @template Row
 * @typedef {object} Column
 * @property {string} label
 * @property {(row: Row) => Child | Child[]} cell
 * @property {(row: Row) => string | number} [sort] What rows are sorted by; a column without it cannot be sorted.
 * @property {boolean} [isNumber]
 * @property {boolean} [isWide] Shown where there is room.
 */

/**
 * A table whose columns sort the rows that it shows. On a narrow screen each row of `isCards` becomes a card. Give the
 * `order` again to a table that takes the place of this one.
 *
 * @template Row
 * @param {{ caption: string, columns: Column<Row>[], rows: Row[], isCards?: boolean, order?: Order }} options
 */
export function table({ caption, columns, rows, isCards = false, order = newOrder() }) {
  // What is no longer laid out as a table is still one to people who listen.
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
    show()
  }
  const head = columns.map((column, index) =>
    headCell(column, () => sortBy(index), role('columnheader')),
  )
  show()
  return el(
    'table',
    { class: isCards ? 'cards' : '', ...role('table') },
    el('caption', { class: 'unseen' }, caption),
    el('thead', role('rowgroup'), el('tr', role('row'), head)),
    body,
  )
}

/** @typedef {{ index: number, isDescending: boolean }} Order */

/**
 * The order in which the rows came.
 *
 * @returns {Order}
 */
export function newOrder() {
  return { index: -1, isDescending: false }
}

/**
 * @param {Column<any>} column
 * @param {() => void} onclick
 * @param {import('./dom.js').Attributes} role
 */
function headCell(column, onclick, role) {
  const label = column.sort ? el('button', { type: 'button', onclick }, column.label) : column.label
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
