import fc from 'fast-check'
import { type Ratio, ratio } from './formula.ts'

/** A value of a step: null where something is missing, `large` for a fraction of more than 400 digits. */
export type Value = Ratio | null | 'large'

/** What a formula may name, in millionths. */
export interface Cell {
  price: bigint
  costs: (bigint | null)[]
  figures: Record<string, bigint | null>
}

/** A formula with its value, computed without the service's parser and without SQL. */
export interface PriceFormula {
  text: string
  value: (cell: Cell) => Value
}

const limit = 10n ** 400n
const absolute = (n: bigint) => (n < 0n ? -n : n)
const inLimits = (value: Value): Value =>
  Array.isArray(value) && (absolute(value[0]) >= limit || value[1] >= limit) ? 'large' : value

const compare = ([a, b]: Ratio, [c, d]: Ratio) => Number(a * d > c * b) - Number(a * d < c * b)
const zero: Ratio = [0n, 1n]

/** Null if one is missing, else `large` if one is, else what `combine` makes of them. */
function of(values: Value[], combine: (...ratios: Ratio[]) => Value): Value {
  if (values.includes(null)) return null
  if (values.includes('large')) return 'large'
  return inLimits(combine(...(values as Ratio[])))
}

function floor([n, d]: Ratio): bigint {
  return n / d - (n % d < 0n ? 1n : 0n)
}
const ceil = ([n, d]: Ratio) => -floor([-n, d])

const isZero = (value: Value) => Array.isArray(value) && value[0] === 0n
const isNegative = (value: Value) => Array.isArray(value) && value[0] < 0n
const isBelowOne = (value: Value) => !Array.isArray(value) || value[0] < value[1]

/** Halves away from zero. */
export function roundTo(digits: number, [n, d]: Ratio): Ratio {
  const power = 10n ** BigInt(digits)
  const size = (2n * absolute(n) * power + d) / (2n * d)
  return ratio(n < 0n ? -size : size, power) as Ratio
}

const arithmetic: Record<string, (a: Ratio, b: Ratio) => Value> = {
  '+': ([a, b], [c, d]) => ratio(a * d + c * b, b * d),
  '-': ([a, b], [c, d]) => ratio(a * d - c * b, b * d),
  '*': ([a, b], [c, d]) => ratio(a * c, b * d),
  '/': ([a, b], [c, d]) => ratio(a * d, b * c),
}

const functions: Record<string, (...values: Value[]) => Value> = {
  MIN: (...values) => of(values, (...all) => all.reduce((a, b) => (compare(a, b) <= 0 ? a : b))),
  MAX: (...values) => of(values, (...all) => all.reduce((a, b) => (compare(a, b) >= 0 ? a : b))),
  IFNULL: (a = null, b = null) => (a === null ? b : a),
  CEILING: (a = null, step = null) => multiple(ceil, a, step),
  FLOOR: (a = null, step = null) => multiple(floor, a, step),
  ENDING: (a = null, e = null) => {
    if (isNegative(a) || isNegative(e) || !isBelowOne(e)) return null
    return of([a, e], ([an, ad] = zero, [en, ed] = zero) =>
      ratio(ceil([an * ed - en * ad, ad * ed]) * ed + en, ed),
    )
  },
}

function multiple(round: (ratio: Ratio) => bigint, a: Value, step: Value): Value {
  if (isZero(step) || isNegative(step)) return null
  return of([a, step], ([an, ad] = zero, [sn, sd] = zero) =>
    ratio(round([an * sd, ad * sn]) * sn, sd),
  )
}

const comparators: Record<string, (order: number) => boolean> = {
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
  '=': (order) => order === 0,
  '<>': (order) => order !== 0,
}

const millionths = (value: bigint | null | undefined): Value =>
  value === null || value === undefined ? null : ratio(value, 1_000_000n)

const number = (text: string): PriceFormula => {
  const [whole = '', decimals = ''] = text.split('.')
  const value = inLimits(ratio(BigInt(whole + decimals), 10n ** BigInt(decimals.length)))
  return { text, value: () => value }
}

const literals = fc.oneof(
  fc
    .constantFrom('0', '1', '2', '0.5', '0.99', '0.015', '3', '100', '1.1', '.25', '7.')
    .map((text) => number(text.replace(/\.$/, '').replace(/^\./, '0.'))),
  fc.nat({ max: 99_999 }).map((n) => number((n / 100).toFixed(2))),
)

const figures = [
  'COMP_MIN',
  'COMP_MAX',
  'COMP_AVG',
  'COMP_MEDIAN',
  'COMP_COUNT',
  'SALES_QTY',
  'SALES_REVENUE',
  'SALES_AVG',
]

const names: PriceFormula[] = [
  { text: 'Price', value: ({ price }) => millionths(price) },
  { text: 'PRICE', value: ({ price }) => millionths(price) },
  { text: 'D', value: ({ costs }) => millionths(costs[0]) },
  { text: 'aa', value: ({ costs }) => millionths(costs[1]) },
  { text: '"freight ""in"""', value: ({ costs }) => millionths(costs[2]) },
  {
    text: 'Costs',
    value: ({ costs }) =>
      of(costs.map(millionths), (...all) => all.reduce((a, b) => arithmetic['+']?.(a, b) as Ratio)),
  },
  ...figures.map((text) => ({
    text,
    value: ({ figures }: Cell) => millionths(figures[text.toLowerCase()]),
  })),
]

const binary = ([operator, a, b]: [string, PriceFormula, PriceFormula]): PriceFormula => ({
  text: `(${a.text}${operator} ${b.text})`,
  value: (cell) => {
    const [x, y] = [a.value(cell), b.value(cell)]
    if (operator === '/' && isZero(y)) return null
    return of([x, y], arithmetic[operator] as (a?: Ratio, b?: Ratio) => Value)
  },
})

const call = (name: string, terms: PriceFormula[]): PriceFormula => ({
  text: `${name}(${terms.map(({ text }) => text).join(', ')})`,
  value: (cell) => functions[name]?.(...terms.map(({ value }) => value(cell))) ?? null,
})

/** Random formulas for new prices. */
export const priceFormulas = fc.letrec<{ any: PriceFormula }>((tie) => {
  const any = tie('any')
  return {
    any: fc.oneof(
      { maxDepth: 6, depthSize: 'medium' },
      fc.oneof(literals, fc.constantFrom(...names)),
      fc.tuple(fc.constantFrom('+', '-', '*', '/', '/'), any, any).map(binary),
      any.map(({ text, value }) => ({
        text: `-${text}`,
        value: (cell: Cell) => of([value(cell)], ([n, d] = zero) => [-n, d]),
      })),
      fc
        .tuple(fc.constantFrom('MIN', 'MAX'), fc.array(any, { minLength: 2, maxLength: 4 }))
        .map(([name, terms]) => call(name, terms)),
      fc.tuple(any, any).map((terms) => call('IFNULL', terms)),
      fc.tuple(any, fc.nat({ max: 6 })).map(([{ text, value }, digits]) => ({
        text: `Round(${text}, ${digits})`,
        value: (cell: Cell) => of([value(cell)], (ratio = zero) => roundTo(digits, ratio)),
      })),
      fc
        .tuple(
          fc.constantFrom('CEILING', 'FLOOR'),
          any,
          fc.oneof(
            fc.constantFrom('0.05', '5', '0.3', '12.5').map(number),
            any.map(({ text, value }) => ({ text: `(${text}+0)`, value })),
          ),
        )
        .map(([name, a, step]) => call(name, [a, step])),
      fc
        .tuple(
          any,
          fc.oneof(
            fc.constantFrom('0', '0.99', '0.5', '0.95').map(number),
            any.map(({ text, value }) => ({ text: `(0+${text})`, value })),
          ),
        )
        .map((terms) => call('ENDING', terms)),
      fc.tuple(fc.constantFrom(...Object.keys(comparators)), any, any, any, any).map(
        ([comparator, a, b, then, otherwise]): PriceFormula => ({
          text: `if(${a.text}${comparator}${b.text},${then.text} , ${otherwise.text})`,
          value: (cell) => {
            const [x, y] = [a.value(cell), b.value(cell)]
            if (x === null || y === null) return null
            if (x === 'large' || y === 'large') return 'large'
            const holds = comparators[comparator]?.(compare(x, y))
            return (holds ? then : otherwise).value(cell)
          },
        }),
      ),
    ),
  }
}).any

/** The new price as text, or why there is none. */
export function newPrice(
  value: Value,
  decimals: number,
): { value: string | null; reason: string | null } {
  const none = (reason: string) => ({ value: null, reason })
  if (value === null) return none('no_value')
  if (value === 'large') return none('too_large')
  if (value[0] < 0n) return none('negative')
  const [n, d] = roundTo(decimals, value)
  const text = String((n * 1_000_000n) / d).padStart(7, '0')
  const price = `${text.slice(0, -6)}.${text.slice(-6)}`.replace(/\.?0+$/, '') || '0'
  const significant = price.replace('.', '').replace(/^0+|0+$/g, '')
  const isHeld = significant.length <= 15 && Number.isFinite(Number(price))
  return isHeld ? { value: price, reason: null } : none('too_large')
}
