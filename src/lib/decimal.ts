/** An exact fraction, because sums and products of floats drift. */
export interface Fraction {
  n: bigint
  /** Always positive. */
  d: bigint
}

/** The exact value of a number as JSON prints it. */
export function fraction(value: number | string): Fraction {
  const [mantissa = '0', exponent = '0'] = String(value).toLowerCase().split('e')
  const [whole = '0', decimals = ''] = mantissa.split('.')
  const power = Number(exponent) - decimals.length
  const digits = BigInt(`${whole}${decimals}`)
  return power >= 0
    ? { n: digits * 10n ** BigInt(power), d: 1n }
    : { n: digits, d: 10n ** BigInt(-power) }
}

/** If one denominator divides the other, the larger is kept: otherwise a long sum would grow with each term. */
export function add(a: Fraction, b: Fraction): Fraction {
  if (a.d % b.d === 0n) return { n: a.n + b.n * (a.d / b.d), d: a.d }
  if (b.d % a.d === 0n) return { n: a.n * (b.d / a.d) + b.n, d: b.d }
  return { n: a.n * b.d + b.n * a.d, d: a.d * b.d }
}
export const subtract = (a: Fraction, b: Fraction): Fraction => add(a, negate(b))
export const multiply = (a: Fraction, b: Fraction): Fraction => ({ n: a.n * b.n, d: a.d * b.d })
export const negate = (a: Fraction): Fraction => ({ n: -a.n, d: a.d })

/** Returns null on division by zero. */
export function divide(a: Fraction, b: Fraction): Fraction | null {
  if (b.n === 0n) return null
  return b.n > 0n ? { n: a.n * b.d, d: a.d * b.n } : { n: -a.n * b.d, d: a.d * -b.n }
}

/** Rounds halves away from zero as SQL and spreadsheets do. */
export function roundHalfAway(value: Fraction, decimals = 6): number {
  return value.n < 0n ? 0 - roundHalfUp(negate(value), decimals) : roundHalfUp(value, decimals)
}

/** Rounds halves up: -0.5 to 0. */
export function roundHalfUp({ n, d }: Fraction, decimals = 6): number {
  const scale = 10n ** BigInt(decimals)
  const units = floorDivide(2n * n * scale + d, 2n * d)
  const size = units < 0n ? -units : units
  const number = Number(`${size / scale}.${(size % scale).toString().padStart(decimals, '0')}`)
  return units < 0n ? -number : number
}

const floorDivide = (n: bigint, d: bigint) => n / d - (n % d < 0n ? 1n : 0n)

/** Whether JSON prints a number with at most this many decimals. */
export function hasDecimals(value: number, decimals: number): boolean {
  const scale = 10 ** decimals
  // Fast for most prices.
  if (value < 1e9) return Math.round(value * scale) / scale === value
  return roundHalfUp(fraction(value), decimals) === value
}

const wellFormed = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
/** Nearly all numbers: at most 15 digits, which a double preserves. */
const plain = /^-?(?:0|[1-9]\d{0,8})(?:\.\d{1,6})?$/

/** The value of a JSON number: undefined for other text, infinite if a double cannot hold it as written, 0 for -0. */
export function readExactNumber(text: string): number | undefined {
  if (plain.test(text)) return Number(text) + 0
  if (!wellFormed.test(text)) return undefined
  const value = Number(text)
  if (significantDigits(text) !== significantDigits(String(value)))
    return text.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  return value === 0 ? 0 : value
}

function significantDigits(number: string): string {
  const [mantissa = ''] = number.split(/e/i, 1)
  const digits = mantissa.replace(/[-+.]/g, '').replace(/^0+/, '')
  let end = digits.length
  // Not /0+$/, which takes quadratic time.
  while (digits[end - 1] === '0') end--
  return digits.slice(0, end)
}
