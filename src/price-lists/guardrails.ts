import { type RawBuilder, sql } from 'kysely'
import type { Schemas } from '../contract/operation.ts'
import { Problem, type RequestError } from '../contract/problem.ts'
import { listedMax } from '../contract/row-errors.ts'
import type { PriceList } from './queries.ts'

export type GuardrailName = Schemas['GuardrailName']

/** SQL of a price change. */
export interface GuardedPrice {
  /** null if none was set. */
  old: RawBuilder<unknown>
  new: RawBuilder<unknown>
  margin: RawBuilder<unknown>
}

type RowGuardrail = Exclude<GuardrailName, 'max_changed_percent' | 'max_removed_percent'>
type Test = (limit: number, price: GuardedPrice) => RawBuilder<unknown>

/** SQL that is true if a price violates the guardrail. */
const tests: Record<RowGuardrail, Test> = {
  min_price: (limit, price) => sql`${price.new} < ${limit}::numeric`,
  max_price: (limit, price) => sql`${price.new} > ${limit}::numeric`,
  max_increase_percent: (limit, { old, new: now }) =>
    sql`${old} > 0 and (${now} - ${old}) * 100 > ${limit}::numeric * ${old}`,
  max_decrease_percent: (limit, { old, new: now }) =>
    sql`${old} > 0 and (${old} - ${now}) * 100 > ${limit}::numeric * ${old}`,
  min_margin_percent: (limit, { margin }) =>
    sql`${margin} is null or ${margin} < ${limit}::numeric`,
  no_zero: (_, price) => sql`${price.new} = 0`,
}

export const guardrailsOf = ({ guardrails }: PriceList) => guardrails as Schemas['Guardrails']

/** Whether the list limits margins. */
export const guardsMargins = (list: PriceList): boolean =>
  guardrailsOf(list).min_margin_percent !== undefined

/** SQL of a text array with the names of the guardrails that a price violates. */
export function violationsOf(list: PriceList, price: GuardedPrice): RawBuilder<string[]> {
  const names = testsOf(list, price).map(({ name, test }) => {
    return sql`case when ${test} then ${sql.lit(name)} end`
  })
  if (names.length === 0) return sql`'{}'::text[]`
  return sql`array_remove(array[${sql.join(names)}]::text[], null)`
}

/** SQL of whether a price violates any guardrail except the one on margins; never null. */
export function isViolating(
  list: PriceList,
  price: Omit<GuardedPrice, 'margin'>,
): RawBuilder<boolean> {
  const each = testsOf(list, { ...price, margin: sql`'Infinity'::numeric` }).map(
    ({ test }) => sql`coalesce(${test}, false)`,
  )
  return each.length === 0 ? sql`false` : sql`(${sql.join(each, sql` or `)})`
}

function testsOf(list: PriceList, price: GuardedPrice) {
  const limits = guardrailsOf(list)
  return (Object.keys(tests) as RowGuardrail[]).flatMap((name) => {
    const limit = limits[name]
    if (limit === undefined || limit === false) return []
    return { name, test: tests[name](Number(limit), price) }
  })
}

/** In a list with fewer rows, one call may change all of them. */
const changedRowsMin = 100

/** The list-wide guardrails that a call violates, given how many published rows it changes and removes. */
export function listViolations(
  list: PriceList,
  { changed, removed }: { changed: number; removed: number },
): GuardrailName[] {
  const { max_changed_percent, max_removed_percent } = guardrailsOf(list)
  // Whole numbers: 64.6 * 500 is below 32300 in doubles.
  const exceeds = (rows: number, percent: number | undefined) =>
    percent !== undefined &&
    BigInt(rows) * 100_000_000n > BigInt(Math.round(percent * 1e6)) * BigInt(list.row_count)
  return [
    ...(list.row_count >= changedRowsMin && exceeds(changed, max_changed_percent)
      ? (['max_changed_percent'] as const)
      : []),
    ...(exceeds(removed, max_removed_percent) ? (['max_removed_percent'] as const) : []),
  ]
}

interface Violation {
  old: number | null
  new: number | null
  violations: GuardrailName[]
}

/** One error per violated guardrail of each price, located by `placeOf`. */
export function violationErrors<Cell extends Violation>(
  list: PriceList,
  cells: readonly Cell[],
  placeOf: (cell: Cell, index: number) => Omit<RequestError, 'code' | 'message'>,
): RequestError[] {
  return cells.flatMap((cell, index) =>
    cell.violations.map((code) => ({
      ...placeOf(cell, index),
      code,
      message: violationMessage(list, code, cell),
    })),
  )
}

function violationMessage(
  list: PriceList,
  name: GuardrailName,
  { old, new: now }: Omit<Violation, 'violations'>,
): string {
  const limit = guardrailsOf(list)[name]
  const change = old === null ? `a first price of ${now}` : `from ${old} to ${now}`
  const says: Record<GuardrailName, string> = {
    min_price: `is below ${limit}`,
    max_price: `is above ${limit}`,
    max_increase_percent: `rises by more than ${limit} percent`,
    max_decrease_percent: `falls by more than ${limit} percent`,
    min_margin_percent: `has a margin below ${limit}, or none`,
    no_zero: 'is 0',
    max_changed_percent: `changes more than ${limit} percent of the rows`,
    max_removed_percent: `removes more than ${limit} percent of the rows`,
  }
  return name.endsWith('ed_percent') ? `it ${says[name]}` : `${change}: ${says[name]}`
}

/** One error per list-wide guardrail that a call violates. */
export function listErrors(
  list: PriceList,
  counts: { changed: number; removed: number },
): RequestError[] {
  const none = { old: null, new: null }
  return listViolations(list, counts).map((code) => {
    return { pointer: '', code, message: violationMessage(list, code, none) }
  })
}

/** The `guardrail-violated` problem: the first errors, and the number of all violations. */
export function guardrailViolated(errors: RequestError[], errorCount: number): Problem {
  const count = errorCount === 1 ? '1 violation' : `${errorCount} violations`
  const detail = `${count} of the list's guardrails. Nothing was written; the header \`Override-Guardrails\` lets it pass.`
  return new Problem('guardrail-violated', detail, {
    errors: errors.slice(0, listedMax),
    errorCount,
  })
}
