import { get, post } from '../api.js'

/** @typedef {import('../api.js').Schemas} Schemas */
/** @typedef {{ name: string, from: number, to: number, price: number }} Reduced */
/** @typedef {Pick<Schemas['PriceRow'], 'explain' | 'lowest_price'>} Told */

const promotionsMax = 1000
const dayMs = 86_400_000

/**
 * For each row, the promotions that lower its price, judged by today's promotions, and its lowest price before a
 * reduction. Makes two requests for all rows.
 *
 * @param {Schemas['PriceList']} list
 * @param {{ price_dimension: string }[]} payload
 * @param {AbortSignal} signal
 */
export async function reductionsOf(list, payload, signal) {
  const body = { price_list_id: list.id, include: ['explain', 'lowest_price'], payload }
  /** @type {[Told[], Schemas['PromotionPage']]} */
  const [told, { results }] = await Promise.all([
    post('/api/v1/prices/get_prices/', body, signal),
    get('/api/v1/promotions/', { limit: promotionsMax }, signal),
  ])
  return told.map(({ explain, lowest_price: lowest }, index) => {
    const dimension = payload[index]?.price_dimension ?? ''
    // `explain` lists the promotions whose filters cover the row, including those of other days, lists and dimensions.
    const covering = new Set(explain?.promotions.filter(isAbout).map(({ name }) => name))
    const promotions = results.filter(
      ({ name, price_lists, price_dimensions }) =>
        covering.has(name) &&
        (price_lists?.includes(list.name) ?? true) &&
        (price_dimensions?.includes(dimension) ?? true),
    )
    return { promotions, lowest }
  })
}

/** @param {{ verdict: string }} promotion */
const isAbout = ({ verdict }) => ['in_force', 'not_lowest', 'not_valid'].includes(verdict)

/**
 * The periods until now in which a promotion lowered a price.
 *
 * @param {Schemas['Promotion'][]} promotions
 * @param {Schemas['PriceEntry'][]} history
 * @param {number} now
 * @returns {Reduced[]}
 */
export function reducedTimes(promotions, history, now) {
  return promotions.flatMap((promotion) =>
    history.flatMap((entry) => {
      const from = Math.max(Date.parse(entry.from), Date.parse(promotion.valid_from))
      const ended = Date.parse(promotion.valid_to) + dayMs
      const to = Math.min(entry.to === null ? now : Date.parse(entry.to), ended, now)
      const price = reduced(promotion, entry.price)
      return from < to && price < entry.price ? [{ name: promotion.name, from, to, price }] : []
    }),
  )
}

/** @param {Schemas['Promotion']} promotion @param {number} price */
function reduced({ kind, value }, price) {
  if (kind === 'percentage') return price * (1 - value / 100)
  return kind === 'amount' ? Math.max(price - value, 0) : value
}
