/** A calendar list has prices for this many days from `valid_from`, whatever `valid_to` says. */
export const horizonDays = 365

const dayMs = 86_400_000
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

/** Places of a chunk. */
export const daysInChunk = 31

/** Where the price of a day is kept: the chunk of its month and the place in it, from 1. */
export function monthPlace(date: string): { month: string; place: number } {
  return { month: `${date.slice(0, 7)}-01`, place: Number(date.slice(8)) }
}

/** Today, the UTC day. */
export function today(): string {
  const day = Math.floor(Date.now() / dayMs)
  if (day !== known.day) known = { day, date: formatDay(day * dayMs) }
  return known.date
}

/** The day that was asked for last: each read of prices asks for it. */
let known = { day: Number.NaN, date: '' }

/** 400 years later the calendar is the same, and Date.UTC takes no year for one of the twentieth century. */
function parseDay(date: string): number {
  const [year, month, day] = [date.slice(0, 4), date.slice(5, 7), date.slice(8)].map(Number)
  return Date.UTC((year ?? 0) + 400, (month ?? 1) - 1, day) - calendarCycleMs
}

function formatDay(time: number): string {
  const [year = '', rest] = new Date(time).toISOString().split(/-(.*)/s)
  return `${year.replace(/^[+-]0*/, '').padStart(4, '0')}-${rest?.slice(0, 5)}`
}
