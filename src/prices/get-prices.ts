import type { Positioned } from '../contract/duplicates.ts'
import type { Handler, Schemas } from '../contract/operation.ts'
import { RowErrors } from '../contract/row-errors.ts'
import type { Trx } from '../database/pool.ts'
import { today } from '../price-lists/calendar.ts'
import { findNames } from '../promotions/queries.ts'
import {
  knownPricings,
  loadPricing,
  type Pricing,
  PricingChanged,
  pricingKey,
} from './read/pricing.ts'
import { readFewKeys, readPrices } from './read/read-prices.ts'
import { sendRows } from './read/streamed-rows.ts'
import { readWantedRows } from './read/wanted-rows.ts'

/** Reads prices, wildcards expanded, in payload order, then by code and extensions. */
export const getPrices: Handler<'getPrices'> = async (
  { account, body, errors, inAccount, inAccountSending, selectInAccount },
  context,
) => {
  const { readRowsMax: rowsMax, readBytesMax: bytesMax } = context.limits
  const known = knownPricings(context)
  const dated = { promotion_date: today(), ...body }
  const key = pricingKey(account, dated)
  const readKnown = <T>(read: (pricing: Pricing, errors: RowErrors) => Promise<T>) => {
    const kept = errors.count === 0 ? known.find(key) : undefined
    return kept && readWithKnown(kept, body.payload, (found) => read(kept, found))
  }
  const few = await readKnown((pricing, errors) =>
    readFewKeys(selectInAccount, pricing, { body, rowsMax, bytesMax, errors }),
  )
  if (few) return few
  const read = async (trx: Trx) => {
    const answer = await readKnown((pricing, errors) =>
      readPrices(trx, pricing, { body, rowsMax, bytesMax, errors }),
    )
    if (answer) return answer
    known.forget(key)
    const pricing = await loadPricing(trx, account, dated)
    const sound = errors.sound(body.payload)
    await rejectUnknownPromotions(trx, account, sound, errors)
    // A faulty request reads no prices, but the answer names the faults of all rows.
    if (errors.count > 0) readWantedRows(sound, pricing.list, pricing.columns, errors)
    errors.reject()
    const found = await readPrices(trx, pricing, { body, rowsMax, bytesMax, errors })
    if (!found) throw errors.problem()
    known.add(key, pricing)
    return found
  }
  const answer = await inAccount(read)
  return 'wanted' in answer ? sendRows(inAccountSending, answer, read) : answer
}

/**
 * Answers a read with a pricing from the cache. Undefined if the pricing is outdated or a row is faulty by it: then the
 * current pricing decides.
 */
async function readWithKnown<T>(
  pricing: Pricing,
  payload: readonly Row[],
  read: (errors: RowErrors) => Promise<T>,
): Promise<T | undefined> {
  if (!promotionNames(payload).every((name) => pricing.promotions.names.has(name))) return undefined
  const errors = new RowErrors('/payload')
  try {
    const answer = await read(errors)
    return errors.count === 0 ? answer : undefined
  } catch (error) {
    if (error instanceof PricingChanged) return undefined
    throw error
  }
}

type Row = Schemas['GetPricesRow']

function promotionNames(payload: readonly Row[]): string[] {
  return [...new Set(payload.flatMap(({ promotion }) => promotion ?? []))]
}

/** A promotion that does not exist is an error of its row; one that is not valid on the day is not. */
async function rejectUnknownPromotions(
  trx: Trx,
  account: number,
  rows: readonly Positioned<Row>[],
  errors: RowErrors,
): Promise<void> {
  const names = promotionNames(rows.map(({ row }) => row))
  if (names.length === 0) return
  const known = await findNames(trx, account, 'promotions', names)
  for (const { row, position } of rows) {
    if (row.promotion !== undefined && !known.has(row.promotion))
      errors.add(position, 'promotion', 'unknown_promotion', 'there is no such promotion')
  }
}
