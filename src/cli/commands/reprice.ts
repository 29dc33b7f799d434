import type { Schemas } from '../../client/index.ts'
import { changeHeaders } from '../change-headers.ts'
import { UsageFault } from '../faults.ts'
import { resultOf } from '../follow-job.ts'
import { collect, condition, digits, wholeNumber } from '../option-values.ts'
import { planText } from '../plan-text.ts'
import { castFilters } from '../products.ts'
import { answer, type Program } from '../program.ts'
import { openClient } from '../session.ts'

type Input = Schemas['RepriceInput']
type Weekday = NonNullable<NonNullable<Input['dates']>['days_of_week']>[number]

export function addReprice(program: Program): void {
  program
    .command('reprice')
    .description('Plans new prices for a price list by a formula. Only the plan is written.')
    .argument('<list>', 'the name of the price list')
    .requiredOption('--formula <formula>', 'what the new price is')
    .option('--filter <column=value>', 'only these products; may be repeated', condition)
    .option('--dimension <name>', 'only this price dimension; may be repeated', collect)
    .option('--from <day>', 'the first day, in a calendar list')
    .option('--to <day>', 'the last day')
    .option('--days <names>', 'only these days of the week, as in sat,sun')
    .option(
      '--decimals <number>',
      'the decimals prices are rounded to; those of the list when left out, 2 if it has 6',
      digits,
    )
    .option(
      '--max-age <days>',
      'only competitor prices of at most this age; 30 when left out',
      wholeNumber,
    )
    .option('--competitor <name>', 'only this competitor; may be repeated', collect)
    .option(
      '--sales-days <days>',
      'the days up to today whose sales count; 30 when left out',
      wholeNumber,
    )
    .option('--note <text>', 'why, for the log')
    .addHelpText(
      'after',
      "\nFormulas use Price, COSTS, costs by letter or \"name\", COMP_MIN, COMP_MAX, COMP_AVG, COMP_MEDIAN, COMP_COUNT, SALES_QTY,\nSALES_REVENUE, SALES_AVG, and MIN, MAX, IFNULL, ROUND, CEILING, FLOOR, ENDING and IF(a < b, then, otherwise).\n\nExamples:\n  pricewell reprice 'Retail 2026' --formula '= ENDING(COSTS / 0.6, 0.99)' --filter country=France\n  pricewell reprice 'Rooms' --formula '= 120' --from 2026-07-01 --to 2026-08-31 --days fri,sat",
    )
    .action(async (list, options) => {
      const client = openClient()
      const { formula, filter, dimension, decimals, note } = options
      const dates = readDates(options)
      const params = { header: changeHeaders({ note }) }
      const body: Input = {
        price_list_name: list,
        formula,
        ...(filter && { product_filters: await castFilters(client, filter) }),
        ...(dimension && { price_dimensions: dimension }),
        ...(dates && { dates }),
        ...(decimals !== undefined && { decimals }),
        ...readFigures(options),
      }
      const { data } = await client.POST('/api/v1/prices/reprice/', { params, body })
      const plan = await resultOf(client, data)
      answer(plan, planText(plan))
    })
}

function readDates(given: {
  from?: string | undefined
  to?: string | undefined
  days?: string | undefined
}): Input['dates'] {
  const { from, to, days } = given
  if (from === undefined && to === undefined && days === undefined) return undefined
  if (from === undefined || to === undefined)
    throw new UsageFault('Name the first and the last day: --from and --to.')
  // The service refuses other names.
  return { from, to, ...(days !== undefined && { days_of_week: days.split(',') as Weekday[] }) }
}

/** Which competitor prices and sales count. */
function readFigures(given: {
  maxAge?: number | undefined
  competitor?: string[] | undefined
  salesDays?: number | undefined
}): Pick<Input, 'competition' | 'sales'> {
  const { maxAge, competitor: names, salesDays } = given
  const competition = {
    ...(maxAge !== undefined && { max_age_days: maxAge }),
    ...(names && { names }),
  }
  return {
    ...(Object.keys(competition).length > 0 && { competition }),
    ...(salesDays !== undefined && { sales: { days: salesDays } }),
  }
}
