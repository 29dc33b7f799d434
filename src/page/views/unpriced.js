import { post } from '../api.js'

/** @typedef {import('../api.js').Schemas} Schemas */

/**
 * Returns a function that tells whether a row never had a price in a price column. Rows show 0 there, as for a price of
 * 0, so only zeros are looked up.
 *
 * @param {Schemas['PriceList']} list
 * @param {Schemas['PriceListRow'][]} rows
 * @param {{ name: string }[]} extensions
 * @param {{ date: string | undefined, as_of: string | undefined }} moment
 * @param {AbortSignal} signal
 * @returns {Promise<(row: Schemas['PriceListRow'], dimension: string) => boolean>}
 */
export async function unpricedOf({ id, price_dimensions }, rows, extensions, moment, signal) {
  const { date, as_of } = moment
  const payload = rows.flatMap((row) =>
    price_dimensions
      .filter((dimension) => row.prices?.[dimension] === 0)
      .map((price_dimension) => ({
        code: row.code,
        extensions: Object.fromEntries(extensions.map(({ name }) => [name, row[name]])),
        price_dimension,
        ...(date && { date }),
      })),
  )
  if (payload.length === 0) return () => false
  const body = { price_list_id: id, include: ['priced'], ...(as_of && { as_of }), payload }
  /** @type {(Schemas['PriceRow'] & { price_dimension: string })[]} */
  const found = await post('/api/v1/prices/get_prices/', body, signal)
  // A list with `hide_unpriced` leaves unpriced rows out.
  const priced = new Set(
    found.filter((row) => row.priced).map((row) => `${row.pk} ${row.price_dimension}`),
  )
  return (row, dimension) => row.prices?.[dimension] === 0 && !priced.has(`${row.pk} ${dimension}`)
}
