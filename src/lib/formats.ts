const datePattern = /^\d{4}-\d{2}-\d{2}$/
const monthLengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
const timestampPattern =
  /^\d{4}-\d{2}-\d{2}(?:[Tt ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d{1,9})?)?(?:[Zz]|[+-](?:0\d|1[0-4])(?::?[0-5]\d)?)?)?$/
const revisionPattern = /^\d{1,9}$/
const utcPattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/
const shortDecimalPattern = /^[+-]?\d{1,9}(?:\.\d{1,6})?$/
const decimalPattern = /^[+-]?(\d+\.?\d*|\.\d+)$/

/** A real calendar day, `yyyy-mm-dd`, years 0001 to 9999. */
export function isDate(text: string): boolean {
  if (!datePattern.test(text)) return false
  const [year, month, day] = [+text.slice(0, 4), +text.slice(5, 7), +text.slice(8)]
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const days = month === 2 && isLeap ? 29 : (monthLengths[month - 1] ?? 0)
  return year >= 1 && day >= 1 && day <= days
}

/** A day, or an ISO 8601 day and time, in the years 0001 to 9999 of UTC. */
export function isTimestamp(text: string): boolean {
  if (!timestampPattern.test(text) || !isDate(text.slice(0, 10))) return false
  // An offset of hours can leave this range only in the first or the last year.
  if (!text.startsWith('0001') && !text.startsWith('9999')) return true
  const year = new Date(utcTimestamp(text)).getUTCFullYear()
  return year >= 1 && year <= 9999
}

/** A day and time: a day alone could mean its beginning or its end. */
export const isInstant = (text: string): boolean => /[Tt ]/.test(text) && isTimestamp(text)

/** A revision, or a day and time. */
export const isMoment = (text: string): boolean => revisionPattern.test(text) || isInstant(text)

/**
 * Adds an offset: a day becomes its midnight, a time without an offset is UTC. Digits beyond microseconds are cut off,
 * because rounding could go past the year 9999.
 */
export function utcTimestamp(text: string): string {
  // The common form.
  if (utcPattern.test(text)) return text
  const iso = text
    .toUpperCase()
    .replace(' ', 'T')
    .replace(',', '.')
    .replace(/(\.\d{6})\d+/, '$1')
  if (!iso.includes('T')) return `${iso}T00:00:00Z`
  const [, time, sign, hours, minutes = '00'] = /^(.*T.*)([+-])(\d{2}):?(\d{2})?$/.exec(iso) ?? []
  if (sign) return `${time}${sign}${hours}:${minutes}`
  return iso.endsWith('Z') ? iso : `${iso}Z`
}

/** A finite number of at most 15 significant digits and 6 decimals. */
export function isMoney(value: number): boolean {
  // Fast for most prices; comparing texts takes a hundred times as long.
  if (Math.abs(value) < 1e9 && Math.round(value * 1e6) / 1e6 === value) return true
  return Number.isFinite(value) && isExactDecimal(String(value))
}

/** A decimal number in a string, without an exponent, of at most 15 significant digits and 6 decimals. */
export function isDecimal(text: string): boolean {
  if (shortDecimalPattern.test(text)) return true
  return text.length <= 40 && decimalPattern.test(text) && isExactDecimal(text)
}

function isExactDecimal(text: string): boolean {
  const [mantissa = '', exponent = '0'] = text.replace(/^[+-]/, '').split('e')
  const [whole = '', decimals = ''] = mantissa.split('.')
  const digits = whole + decimals
  const withoutZeros = digits.replace(/0+$/, '')
  const lastDecimal = decimals.length - Number(exponent) - (digits.length - withoutZeros.length)
  const significant = withoutZeros.replace(/^0+/, '')
  return lastDecimal <= 6 && significant.length <= 15
}
