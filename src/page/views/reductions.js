import { get } from '../api.js'

/** @typedef {import('../api.js').Schemas} Schemas */
/** @typedef {{ name: string, since: number }} Reduction */

const dayMs = 86_400_000

/**
 * For each promotion that lowers the price of a row today, since when it has done so: since its first day, if it was
 * then as it is now, or else since today.
 *
 * @param {Pick<Schemas['PriceRow'], 'explain'>[]} rows
 * @param {AbortSignal} signal
 * @returns {Promise<Map<string, Reduction>>}
 */
export async function reductionsOf(rows, signal) {
  const inForce = new Set(rows.flatMap((row) => reducing(row) ?? []))
  const all = await Promise.all([...inForce].map((name) => reductionOf(name, signal)))
  return new Map(all.map((one) => [one.name, one]))
}

/** The promotion that sets the price of a row. @param {Pick<Schemas['PriceRow'], 'explain'>} row */
export const reducing = ({ explain }) =>
  explain?.promotions.find(({ verdict }) => verdict === 'in_force')?.name

/** @param {string} name @param {AbortSignal} signal */
async function reductionOf(name, signal) {
  const today = Math.floor(Date.now() / dayMs) * dayMs
  const path = '/api/v1/promotions/'
  const [now] = (await get(path, { name }, signal)).results
  const begin = now === undefined ? today : Date.parse(now.valid_from)
  if (begin >= today) return { name, since: today }
  const as_of = new Date(begin).toISOString()
  const [then] = (await get(path, { name, as_of }, signal)).results
  return { name, since: JSON.stringify(then) === JSON.stringify(now) ? begin : today }
}
