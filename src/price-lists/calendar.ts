/** A calendar list has prices for this many days from `valid_from`, whatever `valid_to` says. */
export const horizonDays = 365

export const dayMs = 86_400_000
const calendarCycleMs = 146_097 * dayMs

/** The last day of a calendar list. */
export function lastCalendarDay(validFrom: string): string {
  return formatDay(parseDay(validFrom) + (horizonDays - 1) * dayMs)
}

/** Whether a calendar list that starts on `validFrom` has a price for the day. */
export function isInCalendar(date: string, validFrom: string): boolean {
  const day = (parseDay(date) - parseDay(validFrom)) / dayMs
  return day >= 0 && day < horizonDays
}

/** Prices of a stored month, whatever its length. */
export const daysInMonth = 31

/** Where the price of a day is stored: in its month, at a place from 1. */
export function monthPlace(date: string): { month: string; place: number } {
  return { month: `${date.slice(0, 7)}-01`, place: Number(date.slice(8)) }
}

/** The day so many days after another one, or before it. */
export const dayAfter = (date: string, days: number): string =>
  formatDay(parseDay(date) + days * dayMs)

/** The days since 1970: loops over a year of a thousand rows take a tenth of the time of dates as texts. */
export const dayNumber = (date: string): number => parseDay(date) / dayMs

/** The date of a day number. */
export const dateOfNumber = (day: number): string => formatDay(day * dayMs)

/** From 0, Sunday. */
export const dayOfWeek = (date: string): number => new Date(parseDay(date)).getUTCDay()

/** Today, the UTC day. */
export function today(): string {
  const day = Math.floor(Date.now() / dayMs)
  if (day !== known.day) known = { day, date: formatDay(day * dayMs) }
  return known.date
}

/** The last answer of `today`, which every read of prices calls. */
let known = { day: Number.NaN, date: '' }

/** Counts 400 years later, where the calendar is the same: Date.UTC takes the years 0 to 99 for 1900 to 1999. */
function parseDay(date: string): number {
  const [year, month, day] = [date.slice(0, 4), date.slice(5, 7), date.slice(8)].map(Number)
  return Date.UTC((year ?? 0) + 400, (month ?? 1) - 1, day) - calendarCycleMs
}

function formatDay(time: number): string {
  const text = new Date(time).toISOString()
  if (/^\d/.test(text)) return text.slice(0, 10)
  const [year = '', rest] = text.split(/-(.*)/s)
  return `${year.replace(/^[+-]0*/, '').padStart(4, '0')}-${rest?.slice(0, 5)}`
}
