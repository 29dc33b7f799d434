import fc from 'fast-check'

/** An exact fraction in lowest terms: [numerator, positive denominator]. */
export type Ratio = [bigint, bigint]

/** The variables of a formula in millionths; null for a missing cost. */
export interface Given {
  price: bigint
  costs: (bigint | null)[]
}

/** A formula with its value, computed without the service's parser. */
export interface Formula {
  text: string
  /** 0 for a sum, 1 for a product, 2 for an operand. */
  level: number
  value: (given: Given) => Ratio | null
}

const gcd = (a: bigint, b: bigint): bigint => (b === 0n ? a : gcd(b, a % b))
/** In lowest terms; null for a denominator of 0. */
export function ratio(n: bigint, d: bigint): Ratio | null {
  if (d === 0n) return null
  const divisor = gcd(n < 0n ? -n : n, d < 0n ? -d : d) * (d < 0n ? -1n : 1n)
  return [n / divisor, d / divisor]
}

/** The fraction rounded to some decimals, halves away from zero. */
export function rounded([n, d]: Ratio, decimals = 6): number {
  const sign = n < 0n ? -1 : 1
  const scaled = (n < 0n ? -n : n) * 10n ** BigInt(decimals)
  const up = (scaled % d) * 2n >= d ? 1n : 0n
  return sign * Number(`${scaled / d + up}e-${decimals}`) + 0
}

const combine: Record<string, (a: Ratio, b: Ratio) => Ratio | null> = {
  '+': ([a, b], [c, d]) => ratio(a * d + c * b, b * d),
  '-': ([a, b], [c, d]) => ratio(a * d - c * b, b * d),
  '*': ([a, b], [c, d]) => ratio(a * c, b * d),
  '/': ([a, b], [c, d]) => ratio(a * d, b * c),
}

const space = fc.constantFrom('', '', ' ', '  ', '\t', '\n')
const group = ({ text, value }: Formula): Formula => ({ text: `(${text})`, level: 2, value })
const atLeast = (level: number, formula: Formula) =>
  formula.level < level ? group(formula) : formula

/** Random formulas over Price and costs. */
export function formulas(costNames: string[][]): fc.Arbitrary<Formula> {
  const literal = fc
    .tuple(fc.nat({ max: 9999 }), fc.nat({ max: 99 }))
    .map(([whole, part]): Formula => {
      const value = ratio(BigInt(whole * 100 + part), 100n)
      const decimals = part === 0 ? '' : `.${String(part).padStart(2, '0')}`
      return { text: `${whole}${decimals}`, level: 2, value: () => value }
    })
  const price: Formula = {
    text: 'Price',
    level: 2,
    value: (given) => ratio(given.price, 1_000_000n),
  }
  const costs = costNames.flatMap((names, index) =>
    names.map((text): Formula => {
      const value = (given: Given) => {
        const cost = given.costs[index]
        return cost === null || cost === undefined ? null : ratio(cost, 1_000_000n)
      }
      return { text, level: 2, value }
    }),
  )
  return fc.letrec<{
    any: Formula
    leaf: Formula
    unary: Formula
    binary: Formula
    grouped: Formula
  }>((tie) => ({
    leaf: fc.oneof(literal, fc.constant(price), fc.constantFrom(...costs)),
    unary: fc.tuple(tie('any'), space).map(([inner, gap]): Formula => {
      const operand = atLeast(2, inner)
      const value = (given: Given) => {
        const result = operand.value(given)
        return result && ratio(-result[0], result[1])
      }
      return { text: `-${gap}${operand.text}`, level: 2, value }
    }),
    binary: fc
      .tuple(fc.constantFrom('+', '-', '*', '/'), tie('any'), tie('any'), space, space)
      .map(binary),
    grouped: tie('any').map(group),
    any: fc.oneof(
      { maxDepth: 7, depthSize: 'medium' },
      tie('leaf'),
      tie('binary'),
      tie('binary'),
      tie('unary'),
      tie('grouped'),
    ),
  })).any
}

/** Operators of one precedence group from the left, so a right operand needs a higher one. */
function binary([operator, a, b, before, after]: [
  string,
  Formula,
  Formula,
  string,
  string,
]): Formula {
  const level = operator === '+' || operator === '-' ? 0 : 1
  const [left, right] = [atLeast(level, a), atLeast(level + 1, b)]
  const value = (given: Given) => {
    const [x, y] = [left.value(given), right.value(given)]
    return x && y && (combine[operator]?.(x, y) ?? null)
  }
  return { text: `${left.text}${before}${operator}${after}${right.text}`, level, value }
}
