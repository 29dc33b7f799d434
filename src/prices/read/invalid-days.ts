import type { Schemas } from '../../contract/operation.ts'
import { Problem, type RequestError } from '../../contract/problem.ts'
import { listedMax } from '../../contract/row-errors.ts'
import type { PriceList } from '../../price-lists/queries.ts'
import { isValidOn } from '../../price-lists/validity.ts'
import type { Pricing } from './pricing.ts'

/**
 * The errors of a read with `require_valid`: the days on which its list is not valid. In a calendar list, those are
 * days of its rows.
 */
export function invalidDays(
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
export function notValid({ valid_from, valid_to }: PriceList, days: RequestError[]): Problem {
  const detail = `The price list is valid from ${valid_from} to ${valid_to}.`
  const errors = days.slice(0, listedMax)
  return new Problem('price-list-not-valid', detail, { errors, errorCount: days.length })
}
