import type { Schemas } from '../contract/operation.ts'
import type { PriceList } from './queries.ts'

/** A calendar list has prices for this many days from `valid_from`, whatever `valid_to` says. */
export const horizonDays = 365

export const dayMs = 86_400_000

/** The last day of a calendar list, at most 9999-12-31. */
export function lastCalendarDay(validFrom: string): string {
  const last = Date.parse(validFrom) + (horizonDays - 1) * dayMs
  return formatDay(Math.min(last, Date.parse('9999-12-31')))
}

/** Whether a calendar list that starts on `validFrom` has a price for the day. */
export function isInCalendar(date: string, validFrom: string): boolean {
  const day = (Date.parse(date) - Date.parse(validFrom)) / dayMs
  return day >= 0 && day < horizonDays
}

/** Places for prices in a stored month, whatever its length. */
export const daysInMonth = 31

/** Where the price of a day is stored: its month, as the first day, and the place in it, from 1. */
export function monthPlace(date: string): { month: string; place: number } {
  return { month: `${date.slice(0, 7)}-01`, place: Number(date.slice(8)) }
}

/** The date `days` days later, or earlier if negative. */
export const dayAfter = (date: string, days: number): string =>
  formatDay(Date.parse(date) + days * dayMs)

/** Days since 1970: looping over a year for a thousand rows takes a tenth of the time that date strings take. */
export const dayNumber = (date: string): number => Date.parse(date) / dayMs

/** The inverse of `dayNumber`. */
export const dateOfNumber = (day: number): string => formatDay(day * dayMs)

/** 0 is Sunday. */
export const dayOfWeek = (date: string): number => new Date(Date.parse(date)).getUTCDay()

/** The current UTC day. */
export function today(): string {
  const day = Math.floor(Date.now() / dayMs)
  if (day !== known.day) known = { day, date: formatDay(day * dayMs) }
  return known.date
}

/** Caches the result of `today`, which every read of prices calls. */
let known = { day: Number.NaN, date: '' }

function formatDay(time: number): string {
  const text = new Date(time).toISOString()
  if (/^\d/.test(text)) return text.slice(0, 10)
  const [year = '', rest] = text.split(/-(.*)/s)
  return `${year.replace(/^[+-]0*/, '').padStart(4, '0')}-${rest?.slice(0, 5)}`
}

type Validity = Pick<PriceList, 'valid_from' | 'valid_to'>

/** Where the current UTC day lies in the validity of a list. */
export function stateOf({ valid_from, valid_to }: Validity): Schemas['PriceListState'] {
  const day = today()
  if (day < valid_from) return 'future'
  return day > valid_to ? 'expired' : 'current'
}

/** Whether a list is valid on a day; the first and last day count. */
export const isValidOn = ({ valid_from, valid_to }: Validity, day: string): boolean =>
  day >= valid_from && day <= valid_to
