const daysInMonth = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
const timestampPattern =
  /^(\d{4}-\d{2}-\d{2})(?:[Tt ]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:[.,]\d{1,9})?)?([Zz]|[+-](?:0\d|1[0-4]):?[0-5]\d)?)?$/
const decimalPattern = /^[+-]?(\d+\.?\d*|\.\d+)$/

/** A real calendar day, `yyyy-mm-dd`, years 0001 to 9999. */
export function isDate(text: string): boolean {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text)
  if (!match) return false
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])]
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const days = month === 2 && isLeap ? 29 : (daysInMonth[month - 1] ?? 0)
  return year >= 1 && day >= 1 && day <= days
}

/** A day, or an ISO 8601 day and time that is still in the years 0001 to 9999 when taken to UTC. */
export function isTimestamp(text: string): boolean {
  const match = timestampPattern.exec(text)
  if (!match || !isDate(match[1] ?? '')) return false
  const year = new Date(utcTimestamp(text)).getUTCFullYear()
  return year >= 1 && year <= 9999
}

/**
 * The timestamp with an offset: a day is its midnight, a time without an offset is UTC. Digits below microseconds are
 * cut off: Postgres would round them, past the year 9999 at worst.
 */
export function utcTimestamp(text: string): string {
  const iso = text
    .toUpperCase()
    .replace(' ', 'T')
    .replace(',', '.')
    .replace(/(\.\d{6})\d+/, '$1')
  if (!iso.includes('T')) return `${iso}T00:00:00Z`
  const offset = /(Z|[+-]\d{2}:?\d{2})$/.exec(iso)?.[0]
  if (!offset) return `${iso}Z`
  return iso.slice(0, -offset.length) + offset.replace(/^([+-]\d{2})(\d{2})$/, '$1:$2')
}

/** A finite number of at most 15 significant digits and 6 decimals, which a decimal keeps exactly. */
export function isMoney(value: number): boolean {
  if (!Number.isFinite(value)) return false
  return isExactDecimal(Math.abs(value) < 1e-6 ? value.toFixed(20) : String(value))
}

/** A decimal number in a string, without exponent, of at most 15 significant digits and 6 decimals. */
export function isDecimal(text: string): boolean {
  return text.length <= 40 && decimalPattern.test(text) && isExactDecimal(text)
}

function isExactDecimal(text: string): boolean {
  if (/e/i.test(text)) return false
  const [whole = '', decimals = ''] = text.replace(/^[+-]/, '').split('.')
  const significantDecimals = decimals.replace(/0+$/, '')
  const digits = (whole + significantDecimals).replace(/^0+/, '')
  const significant = significantDecimals === '' ? digits.replace(/0+$/, '') : digits
  return significantDecimals.length <= 6 && significant.length <= 15
}
