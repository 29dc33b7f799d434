/** A calendar list has prices for this many days from `valid_from`, whatever `valid_to` says. */
export const horizonDays = 365

const dayMs = 86_400_000

/** The last day of a calendar list. */
export function lastCalendarDay(validFrom: string): string {
  return formatDay(parseDay(validFrom) + (horizonDays - 1) * dayMs)
}

/** Whether a calendar list that starts on `validFrom` has a price for the day. */
export function isInCalendar(date: string, validFrom: string): boolean {
  const day = (parseDay(date) - parseDay(validFrom)) / dayMs
  return day >= 0 && day < horizonDays
}

/** Where the price of a day is kept: the chunk of its month and the place in it, from 1. */
export function monthPlace(date: string): { month: string; place: number } {
  return { month: `${date.slice(0, 7)}-01`, place: Number(date.slice(8)) }
}

/** Today, the UTC day. */
export function today(): string {
  return formatDay(Date.now())
}

/** setUTCFullYear, because Date.UTC takes the years 0 to 99 for 1900 to 1999. */
function parseDay(date: string): number {
  const [year = 0, month = 1, day = 1] = date.split('-').map(Number)
  return new Date(0).setUTCFullYear(year, month - 1, day)
}

function formatDay(time: number): string {
  const [year = '', rest] = new Date(time).toISOString().split(/-(.*)/s)
  return `${year.replace(/^[+-]0*/, '').padStart(4, '0')}-${rest?.slice(0, 5)}`
}
