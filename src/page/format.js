const none = '–'

const whole = new Intl.NumberFormat()
const money = new Intl.NumberFormat(undefined, {
  minimumFractionDigits: 2,
  maximumFractionDigits: 6,
})
const share = new Intl.NumberFormat(undefined, {
  style: 'percent',
  maximumFractionDigits: 1,
  signDisplay: 'negative',
})
const exactShare = new Intl.NumberFormat(undefined, {
  style: 'percent',
  maximumFractionDigits: 6,
  signDisplay: 'negative',
})
const difference = new Intl.NumberFormat(undefined, {
  style: 'percent',
  maximumFractionDigits: 1,
  signDisplay: 'exceptZero',
})
const dayFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' })
const monthFormat = new Intl.DateTimeFormat(undefined, { month: 'short', timeZone: 'UTC' })
const momentFormat = new Intl.DateTimeFormat(undefined, {
  dateStyle: 'medium',
  timeStyle: 'medium',
})
const agoFormat = new Intl.RelativeTimeFormat(undefined, { numeric: 'always' })
const secondsFormat = new Intl.NumberFormat(undefined, {
  style: 'unit',
  unit: 'second',
  maximumFractionDigits: 1,
})

/** @param {number} value */
export const count = (value) => whole.format(value)

/** `1 row`, `2,000 rows`. @param {number} number @param {string} noun */
export const counted = (number, noun) => `${count(number)} ${noun}${number === 1 ? '' : 's'}`

/** A price or cost, with its decimals. @param {number | null | undefined} value */
export const price = (value) => (value === null || value === undefined ? none : money.format(value))

/** Shown for a price that was never set, which the service returns as 0. */
export const unset = 'no price'

/** A margin, given in percent. @param {number | null | undefined} value */
export const margin = (value) =>
  value === null || value === undefined ? none : share.format(value / 100)

/** A setting in percent, with all its decimals. @param {number} value */
export const percent = (value) => exactShare.format(value / 100)

/** How far `ours` is above or below `theirs`, as a percentage. @param {number} ours @param {number} theirs */
export const compared = (ours, theirs) =>
  theirs === 0 ? none : difference.format(ours / theirs - 1)

/** A change in percent, with its sign. @param {number | null} percent */
export const change = (percent) => (percent === null ? none : difference.format(percent / 100))

/** A calendar day, the same in every time zone. @param {string} date `yyyy-mm-dd` */
export const day = (date) => dayFormat.format(new Date(`${date}T00:00:00Z`))

/** The month of a day. @param {string} date `yyyy-mm-dd` */
export const month = (date) => monthFormat.format(new Date(`${date}T00:00:00Z`))

/** A moment, in the reader's time zone. @param {string} timestamp */
export const moment = (timestamp) => momentFormat.format(new Date(timestamp))

/** A duration, in seconds. @param {number} ms */
export const duration = (ms) => secondsFormat.format(ms / 1000)

/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const units = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
]

/**
 * Formats how long ago a time was, in the largest unit that fits.
 *
 * @param {string} timestamp
 * @param {number} [now]
 */
export function ago(timestamp, now = Date.now()) {
  const seconds = Math.round((Date.parse(timestamp) - now) / 1000)
  for (const [unit, size] of units) {
    if (Math.abs(seconds) >= size) return agoFormat.format(Math.trunc(seconds / size), unit)
  }
  return agoFormat.format(Math.trunc(seconds), 'second')
}

/** Today as a UTC day, as the service sees it. */
export function today() {
  return new Date().toISOString().slice(0, 10)
}

/** The start of the current minute, as a field for a moment has it: in the reader's time zone. */
export function minuteNow(now = new Date()) {
  const local = new Date(now.getTime() - now.getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 16)
}

/** The end of a past day as a timestamp; undefined for other days, or without one. @param {string | undefined} day */
export const endOf = (day) => (day && day < today() ? `${day}T23:59:59.999999Z` : undefined)

/**
 * Consecutive days from the first one.
 *
 * @param {string} first `yyyy-mm-dd`
 * @param {number} length
 */
export function daysFrom(first, length) {
  const start = Date.parse(`${first}T00:00:00Z`)
  return Array.from({ length }, (_, index) =>
    new Date(start + index * 86_400_000).toISOString().slice(0, 10),
  )
}
