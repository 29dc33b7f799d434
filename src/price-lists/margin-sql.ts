import { type RawBuilder, sql } from 'kysely'
import type { Columns } from '../catalog/columns.ts'
import type { Arithmetic, Term } from './formula.ts'
import { parseMarginTerm } from './margin-formula.ts'
import type { PriceList } from './queries.ts'
import { inLimits, operations, type SqlFraction } from './sql-fraction.ts'
import { SqlSteps } from './sql-steps.ts'

/** The decimals of a margin. */
const marginDecimals = 6

/**
 * SQL of a FROM item with the columns `kept` of `cells`, and `margin`, the list's margin at the price. `cells` also has
 * `price` and `costs`.
 */
export function withMargin(
  list: PriceList,
  columns: Columns,
  cells: RawBuilder<unknown>,
  kept: readonly string[],
): RawBuilder<unknown> {
  const { steps, margin } = compileMargin(list, columns)
  return steps.select(cells, kept, { margin })
}

/**
 * SQL of a FROM item with the columns `kept` of `cells`, and `margin_before` and `margin_after`, the list's margins at
 * the prices `old` and `new`. `cells` also has `old`, `new` and `costs`.
 */
export function withMargins(
  list: PriceList,
  columns: Columns,
  cells: RawBuilder<unknown>,
  kept: readonly string[],
): RawBuilder<unknown> {
  const { steps, margin } = compileMargin(list, columns)
  const at = (price: string, from: RawBuilder<unknown>, kept: readonly string[], name: string) =>
    steps.select(sql`(select *, ${sql.ref(price)} as price from ${from}) as cell`, kept, {
      [name]: margin,
    })
  const before = at('old', cells, [...kept, 'costs'], 'margin_before')
  return at('new', before, [...kept, 'margin_before'], 'margin_after')
}

function compileMargin({ margin_formula }: PriceList, { costs }: Columns) {
  const steps = new SqlSteps()
  const compile = (term: Term): SqlFraction => compileArithmetic(steps, term, compile)
  const rounded = roundedTo(marginDecimals, steps, compile(parseMarginTerm(margin_formula, costs)))
  return { steps, margin: steps.keep(`nullif(trim_scale(${rounded}), 'NaN')`) }
}

/** Compiles the nodes that all formulas share; `compile` compiles their operands. */
export function compileArithmetic<Extra>(
  steps: SqlSteps,
  term: Arithmetic<Extra>,
  compile: (operand: Term<Extra>) => SqlFraction,
): SqlFraction {
  switch (term.kind) {
    case 'number': {
      const [whole = '', decimals = ''] = term.text.replace('-', '').split('.')
      const digits = { whole: whole.length, scale: decimals.length }
      return inLimits(steps, { n: { text: steps.number(term.text), ...digits } })
    }
    case 'price':
      return input(steps.name('Price', steps.input('price')))
    case 'costs':
      return input(steps.name(term.name, sumOfCosts(steps, term.ordinals)))
    case 'operation': {
      const [left, right] = [compile(term.left), compile(term.right)]
      return inLimits(steps, operations[term.operator](steps, left, right))
    }
  }
}

/** Prices, costs and figures have at most 6 decimals; JSON numbers end at 1.8e308, and sums are a little longer. */
export const input = (text: string): SqlFraction => ({ n: { text, whole: 320, scale: 6 } })

function sumOfCosts(steps: SqlSteps, ordinals: readonly number[]): string {
  if (ordinals.length === 0) return steps.number('0')
  const costs = ordinals.map((ordinal) => `${steps.input('costs')}[${ordinal}]`)
  return costs.length === 1 ? costs.join() : `(${costs.join(' + ')})`
}

/** SQL of a fraction rounded to `decimals`, halves away from zero. */
export function roundedTo(decimals: number, steps: SqlSteps, { n, d }: SqlFraction): string {
  if (d === undefined) return `round(${n.text}, ${decimals})`
  const [a, b] = [steps.keep(n.text), steps.keep(d.text)]
  const size = `div(2 * abs(${a}) * ${10 ** decimals} + ${b}, 2 * ${b})`
  return `(sign(${a}) * ${size} * ${(10 ** -decimals).toFixed(decimals)})`
}
