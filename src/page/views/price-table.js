import { el, name } from '../dom.js'
import * as format from '../format.js'
import { table } from '../table.js'
import { competitorCell } from './competitors.js'

/** @typedef {import('../api.js').Schemas} Schemas */
/** @typedef {import('./prices-of-code.js').PriceRow} PriceRow */
/** @typedef {import('./prices-of-code.js').Wanted} Wanted */

/**
 * The price in force of each row and price column, with its parts.
 *
 * @param {Wanted} wanted
 * @param {PriceRow[]} rows
 * @param {Schemas['CatalogSchema']} schema
 * @param {import('./competitors.js').Competitors} competitors
 */
export function priceTable({ code, list }, rows, { extensions }, competitors) {
  return table({
    caption: `Prices of ${code} in ${list.name}`,
    isCards: true,
    rows: byRow(rows, extensions),
    columns: [
      ...extensions.map((column) => ({
        label: column.name,
        sort: (/** @type {PriceRow} */ row) => /** @type {string | number} */ (row[column.name]),
        cell: (/** @type {PriceRow} */ row) => name(row[column.name]),
      })),
      {
        label: 'Price column',
        sort: (row) => row.price_dimension,
        cell: (row) => name(row.price_dimension),
      },
      {
        label: 'Published',
        isNumber: true,
        sort: (row) => row.base_price ?? 0,
        cell: publishedPrice,
      },
      { label: 'In force', isNumber: true, sort: (row) => row.active_price, cell: priceInForce },
      {
        label: 'Margin in force',
        isNumber: true,
        sort: (row) => row.active_margin ?? Number.NEGATIVE_INFINITY,
        cell: marginsOf,
      },
      { label: 'Promotions', cell: promotionsOf },
      {
        label: 'Competitors',
        cell: (row) => competitorCell(competitors.about(row), row.active_price),
      },
    ],
  })
}

/**
 * Groups the price columns of a row, in the order of the list.
 *
 * @param {PriceRow[]} rows
 * @param {{ name: string }[]} extensions
 */
function byRow(rows, extensions) {
  const keyOf = (/** @type {PriceRow} */ row) =>
    JSON.stringify(extensions.map((column) => row[column.name]))
  return [...Map.groupBy(rows, keyOf).values()].flat()
}

/** @param {PriceRow} row */
function publishedPrice({ base_price, priced }) {
  return priced ? format.price(base_price) : el('span', { class: 'hint' }, format.unset)
}

/** @param {PriceRow} row */
function priceInForce(row) {
  const { active_price, base_price = 0, priced } = row
  if (!priced) return publishedPrice(row)
  return el(
    'strong',
    { class: active_price < base_price ? 'lowered' : '' },
    format.price(active_price),
  )
}

/** @param {PriceRow} row */
function promotionsOf({ promotions, priced }) {
  if (promotions.length === 0 || !priced) return '–'
  return el(
    'ul',
    { class: 'plain' },
    promotions.map((one) =>
      el('li', {}, name(one.name), ' ', el('span', { class: 'value' }, format.price(one.value))),
    ),
  )
}

/**
 * The margin at the price in force, and at the published price if it differs.
 *
 * @param {PriceRow} row
 */
function marginsOf({ active_price, base_price = 0, active_margin, margin }) {
  const inForce = el(
    'span',
    { class: (active_margin ?? 0) < 0 ? 'loss' : '' },
    format.margin(active_margin),
  )
  if (active_price >= base_price) return inForce
  return [inForce, el('span', { class: 'sub' }, `published ${format.margin(margin)}`)]
}
