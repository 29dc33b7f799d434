import type { Handler, JsonText, Stream } from '../contract/operation.ts'
import { RowErrors } from '../contract/row-errors.ts'
import type { Trx } from '../database/pool.ts'
import { today } from '../price-lists/calendar.ts'
import { LargeRead, sendLargeRead } from './large-read.ts'
import { knownPricings, loadPricing, type Pricing, PricingChanged, pricingKey } from './pricing.ts'
import { type Read, readPrices } from './read-prices.ts'
import { promotionNames, readWantedRows, rejectUnknownPromotions } from './wanted-rows.ts'

/** Reads prices, wildcards expanded, in payload order, then by code and extensions. */
export const getPrices: Handler<'getPrices'> = async (
  { account, body, errors, inAccount, inAccountSending },
  context,
) => {
  const { readRowsMax: rowsMax, readBytesMax: bytesMax } = context.limits
  const known = knownPricings(context)
  const dated = { promotion_date: today(), ...body }
  const key = pricingKey(account, dated)
  const read = async (trx: Trx) => {
    const kept = errors.count === 0 ? known.find(key) : undefined
    const answer = kept && (await readByKnown(trx, kept, { body, rowsMax, bytesMax }))
    if (answer) return answer
    known.forget(key)
    const pricing = await loadPricing(trx, account, dated)
    const sound = errors.sound(body.payload)
    await rejectUnknownPromotions(trx, account, sound, errors)
    // Nothing is read for a faulty request; what else is wrong with its rows is said, too.
    if (errors.count > 0) readWantedRows(sound, pricing.list, pricing.columns, errors)
    errors.reject()
    const found = await readPrices(trx, pricing, { body, rowsMax, bytesMax, errors })
    if (!found) throw errors.problem()
    known.add(key, pricing)
    return found
  }
  const answer = await inAccount(read)
  return answer instanceof LargeRead ? sendLargeRead(inAccountSending, answer, read) : answer
}

/**
 * Answers a read by a pricing that was kept, most often by one statement. Nothing, if the pricing no longer holds, or the
 * read is faulty by it: whether it is has to be seen by what holds now.
 */
async function readByKnown(
  trx: Trx,
  pricing: Pricing,
  read: Omit<Read, 'errors'>,
): Promise<JsonText | Stream | LargeRead | undefined> {
  const names = promotionNames(read.body.payload)
  if (!names.every((name) => pricing.promotions.names.has(name))) return undefined
  const errors = new RowErrors('/payload')
  try {
    const answer = await readPrices(trx, pricing, { ...read, errors })
    return errors.count === 0 ? answer : undefined
  } catch (error) {
    if (error instanceof PricingChanged) return undefined
    throw error
  }
}
