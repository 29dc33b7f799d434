import { type Columns, findColumns } from '../../catalog/columns.ts'
import {
  compileFilters,
  type FilterCondition,
  type ProductFilters,
  rejectFaultyFilters,
} from '../../catalog/product-filters.ts'
import type { Schemas } from '../../contract/operation.ts'
import { RowErrors } from '../../contract/row-errors.ts'
import type { Trx } from '../../database/pool.ts'
import {
  dateOfNumber,
  dayNumber,
  dayOfWeek,
  isInCalendar,
  lastCalendarDay,
} from '../../price-lists/calendar.ts'
import { FormulaError } from '../../price-lists/formula.ts'
import type { PriceList } from '../../price-lists/queries.ts'
import { type CompiledFormula, compilePriceFormula } from './compile-formula.ts'
import type { FigureOptions } from './joined-figures.ts'
import { parsePriceFormula } from './price-formula.ts'

type Input = Schemas['RepriceInput']

/** A checked call: which cells get which price. */
export interface RepriceCall extends FigureOptions {
  columns: Columns
  formula: CompiledFormula
  filters: FilterCondition[]
  /** From 1. */
  dimensions: number[]
  /** A single null for a list without days. */
  days: (string | null)[]
}

/** Checks a call against its list and the account's columns. Throws `invalid-request` with all faults. */
export async function readCall(trx: Trx, list: PriceList, body: Input): Promise<RepriceCall> {
  const columns = await findColumns(trx, list.account_id)
  const errors = new RowErrors('')
  const filters = (body.product_filters ?? {}) as ProductFilters
  rejectFaultyFilters(filters, columns, 0, errors)
  const formula = readFormula(body, readDecimals(list, body, errors), columns, errors)
  const dimensions = readDimensions(list, body.price_dimensions, errors)
  rejectFaultyDates(list, body.dates, errors)
  errors.rejectBody()
  return {
    columns,
    formula: formula as CompiledFormula,
    filters: compileFilters(filters, columns),
    dimensions,
    days: body.dates ? daysOf(body.dates) : [null],
    competition: body.competition,
    sales: body.sales,
  }
}

/** The decimals that new prices round to: by default the list's, or 2 if it allows all 6. */
function readDecimals(list: PriceList, { decimals }: Input, errors: RowErrors): number {
  if (decimals === undefined) return list.decimals < 6 ? list.decimals : 2
  if (decimals > list.decimals)
    errors.add(0, 'decimals', 'range', `must be at most ${list.decimals}, the decimals of the list`)
  return decimals
}

function readFormula(
  { formula }: Input,
  decimals: number,
  { costs }: Columns,
  errors: RowErrors,
): CompiledFormula | undefined {
  try {
    return compilePriceFormula(parsePriceFormula(formula, costs, decimals), decimals)
  } catch (error) {
    if (!(error instanceof FormulaError)) throw error
    errors.add(0, 'formula', 'formula', error.message)
    return undefined
  }
}

function readDimensions(
  { price_dimensions: all }: PriceList,
  named: string[] = all,
  errors: RowErrors,
): number[] {
  return named.map((name, index) => {
    const place = all.indexOf(name) + 1
    if (place === 0) {
      const message = `must be one of ${all.slice(0, 20).join(', ')}`
      errors.add(0, `price_dimensions/${index}`, 'unknown_price_dimension', message)
    }
    return place
  })
}

function rejectFaultyDates(
  { is_calendar, valid_from }: PriceList,
  dates: Input['dates'],
  errors: RowErrors,
): void {
  if (!dates && is_calendar) errors.add(0, 'dates', 'required', 'is required for a calendar list')
  if (dates && !is_calendar) errors.add(0, 'dates', 'not_allowed', 'only a calendar list has dates')
  if (!dates || !is_calendar) return
  for (const end of ['from', 'to'] as const) {
    if (isInCalendar(dates[end], valid_from)) continue
    const message = `must be from ${valid_from} to ${lastCalendarDay(valid_from)}`
    errors.add(0, `dates/${end}`, 'date_outside_calendar', message)
  }
  if (dates.from > dates.to) errors.add(0, 'dates/to', 'range', 'must not be before from')
}

const daysOfWeek = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const

function daysOf({ from, to, days_of_week = [...daysOfWeek] }: NonNullable<Input['dates']>) {
  const named = new Set(days_of_week.map((name) => daysOfWeek.indexOf(name)))
  const first = dayNumber(from)
  return Array.from({ length: dayNumber(to) - first + 1 }, (_, index) =>
    dateOfNumber(first + index),
  ).filter((day) => named.has(dayOfWeek(day)))
}
