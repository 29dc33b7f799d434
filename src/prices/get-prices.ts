import type { Positioned } from '../contract/duplicates.ts'
import type { Handler, Schemas } from '../contract/operation.ts'
import { Problem, type RequestError } from '../contract/problem.ts'
import { invalidRequest, listedMax, RowErrors } from '../contract/row-errors.ts'
import type { Trx } from '../database/pool.ts'
import { isValidOn, today } from '../price-lists/calendar.ts'
import type { PriceList } from '../price-lists/queries.ts'
import { findPromotionNames } from '../promotions/queries.ts'
import { lastBefore } from './read/lowest-price.ts'
import type { PricesRead } from './read/price-rows.ts'
import {
  knownPricings,
  loadPastPricing,
  loadPricing,
  type Pricing,
  PricingChanged,
  pricingKey,
} from './read/pricing.ts'
import { type Read, readFewKeys, readPrices } from './read/read-prices.ts'
import { type StreamedRead, sendRows } from './read/streamed-rows.ts'
import { readWantedRows } from './read/wanted-rows.ts'

/** Reads prices, wildcards expanded, in payload order, then by code and extensions. */
export const getPrices: Handler<'getPrices'> = async (request, context) => {
  const { account, body, errors, inAccount, inAccountSending, selectInAccount } = request
  const { readRowsMax: rowsMax, readBytesMax: bytesMax } = context.limits
  const asked = { body, rowsMax, bytesMax, errors }
  rejectUnusedOptions(body)
  rejectLateBefore(body)
  const send = async (read: ReadIn) => {
    const answer = await inAccount(read)
    return 'wanted' in answer ? sendRows(inAccountSending, answer, read) : answer
  }
  if (body.as_of !== undefined) rejectUnversioned(body)
  const known = knownPricings(context)
  const dated = { promotion_date: today(), ...body }
  const key = pricingKey(account, body.as_of === undefined ? dated : body)
  const isSound = errors.count === 0
  const readKnown = <T>(read: (pricing: Pricing, errors: RowErrors) => Promise<T>) => {
    const kept = isSound ? known.find(key) : undefined
    return kept && readWithKnown(kept, body, (found) => read(kept, found))
  }
  const few = await readKnown((pricing, errors) =>
    readFewKeys(selectInAccount, pricing, { ...asked, errors }),
  )
  if (few) return few
  return send(async (trx) => {
    const answer = await readKnown((pricing, errors) =>
      readPrices(trx, pricing, { ...asked, errors }),
    )
    if (answer) return answer
    known.forget(key)
    const pricing = await (body.as_of === undefined
      ? loadPricing(trx, account, dated)
      : loadPastPricing(trx, account, body))
    // The read may be repeated on another database, which may know what this one does not.
    const found = await readWith(trx, pricing, {
      ...asked,
      errors: isSound ? new RowErrors('/payload') : errors,
    })
    known.add(key, pricing)
    return found
  })
}

type ReadIn = (trx: Trx) => Promise<PricesRead | StreamedRead>

/** Throws `invalid-request` for options of fields that `include` does not name. */
function rejectUnusedOptions({ include = [], ...body }: Schemas['GetPricesInput']): void {
  const fields = ['lowest_price', 'competition', 'sales'] as const
  const unused = fields.filter((field) => body[field] !== undefined && !include.includes(field))
  if (unused.length === 0) return
  throw invalidRequest(
    unused.map((field) => ({
      pointer: `/${field}`,
      field,
      code: 'not_allowed',
      message: `include must name ${field}`,
    })),
  )
}

/** Throws `invalid-request` if `lowest_price.before` lies too far ahead. */
function rejectLateBefore({ lowest_price }: Schemas['GetPricesInput']): void {
  if (lowest_price?.before === undefined || lowest_price.before <= lastBefore()) return
  const message = `must not be after ${lastBefore()}`
  const place = { pointer: '/lowest_price/before', field: 'lowest_price' }
  throw invalidRequest([{ ...place, code: 'range', message }])
}

const versioned = new Set<string>(['base_price', 'priced', 'explain'])

/** Costs, attributes, agreements, competitor prices and sales have no history. Throws `invalid-request`. */
function rejectUnversioned({ include = [], client_code }: Schemas['GetPricesInput']): void {
  if (client_code !== undefined) {
    const place = { pointer: '/client_code', field: 'client_code' }
    const message = 'agreements cannot be read as of a moment'
    throw invalidRequest([{ ...place, code: 'not_allowed', message }])
  }
  const unversioned = include.filter((field) => !versioned.has(field))
  if (unversioned.length === 0) return
  const message = `${unversioned.join(', ')} cannot be read as of a moment`
  throw invalidRequest([{ pointer: '/include', field: 'include', code: 'not_allowed', message }])
}

/** Reads with a pricing that was just loaded. Throws `invalid-request` with the faults of all rows. */
async function readWith(
  trx: Trx,
  pricing: Pricing,
  read: Read,
): Promise<PricesRead | StreamedRead> {
  const { errors, body } = read
  const sound = errors.sound(body.payload)
  await rejectUnknownPromotions(trx, pricing, sound, errors)
  const invalid = errors.count === 0 ? invalidDays(pricing, body) : []
  // A refused request reads no prices, but its response lists the faults of all rows.
  if (errors.count + invalid.length > 0)
    readWantedRows(sound, pricing.list, pricing.columns, errors)
  errors.reject()
  if (invalid.length > 0) throw notValid(pricing.list, invalid)
  const found = await readPrices(trx, pricing, read)
  if (!found) throw errors.problem()
  return found
}

/**
 * Reads with a cached pricing. Returns undefined if the pricing is outdated, or makes a row or day invalid: then the
 * current pricing decides.
 */
async function readWithKnown<T>(
  pricing: Pricing,
  body: Schemas['GetPricesInput'],
  read: (errors: RowErrors) => Promise<T>,
): Promise<T | undefined> {
  const names = promotionNames(body.payload)
  if (!names.every((name) => pricing.promotions.names.has(name))) return undefined
  if (invalidDays(pricing, body).length > 0) return undefined
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

/** Reports rows whose promotion does not exist. One that is not valid on the day is no error. */
async function rejectUnknownPromotions(
  trx: Trx,
  { list, moment }: Pricing,
  rows: readonly Positioned<Row>[],
  errors: RowErrors,
): Promise<void> {
  const names = promotionNames(rows.map(({ row }) => row))
  if (names.length === 0) return
  const known = await findPromotionNames(trx, list.account_id, names, moment?.at)
  for (const { row, position } of rows) {
    if (row.promotion === undefined || known.has(row.promotion)) continue
    const message = `there is no promotion "${row.promotion}"`
    errors.add(position, 'promotion', 'unknown_promotion', message)
  }
}

/**
 * The errors of a read with `require_valid`: the days on which its list is not valid. In a calendar list, those are
 * days of its rows.
 */
function invalidDays(
  { list, date }: Pricing,
  { require_valid, payload }: Schemas['GetPricesInput'],
): RequestError[] {
  if (!require_valid) return []
  if (!list.is_calendar)
    return isValidOn(list, date) ? [] : [outside(list, '/promotion_date', 'promotion_date', date)]
  return payload.flatMap(({ date: day }, row) =>
    day === undefined || isValidOn(list, day)
      ? []
      : { ...outside(list, `/payload/${row}/date`, 'date', day), row },
  )
}

function outside(
  { valid_from, valid_to }: PriceList,
  pointer: string,
  field: string,
  day: string,
): RequestError {
  const message = `${day} is not from ${valid_from} to ${valid_to}`
  return { pointer, field, code: 'range', message }
}

/** Makes the `price-list-not-valid` problem with these errors. */
function notValid({ valid_from, valid_to }: PriceList, days: RequestError[]): Problem {
  const detail = `The price list is valid from ${valid_from} to ${valid_to}.`
  const errors = days.slice(0, listedMax)
  return new Problem('price-list-not-valid', detail, { errors, errorCount: days.length })
}
