import { InvalidArgumentError } from '@commander-js/extra-typings'
import { isJob, type PricewellClient, type Schemas } from '../../client/index.ts'
import { changeHeaders } from '../change-headers.ts'
import { followJob, readPlan } from '../follow-job.ts'
import { collect, condition, digits } from '../option-values.ts'
import { planText } from '../plan-text.ts'
import { castFilters } from '../products.ts'
import { answer, type Program } from '../program.ts'
import { openClient } from '../session.ts'
import { number, type TableRow, table } from '../terminal.ts'

const listsMax = 1000

export function addLists(program: Program): void {
  program
    .command('lists')
    .description('Shows the price lists, 1,000 at most.')
    .option('--search <text>', 'only lists whose name contains this, ignoring case')
    .addHelpText('after', '\nExample:\n  pricewell lists --search 2026')
    .action(async ({ search }) => {
      const query = { limit: listsMax, include: 'row_count', ...(search && { search }) } as const
      const { data } = await openClient().GET('/api/v1/price_list/', { params: { query } })
      const { count, results } = data
      const more = count > results.length ? `\nand ${number(count - results.length)} more` : ''
      const none = search
        ? `No price list has "${search}" in its name.`
        : 'There are no price lists.'
      answer(results, table(results.map(listed), none) + more)
    })
}

function listed(list: Schemas['PriceList']): TableRow {
  const { name, revision, row_count: rows, valid_from: from, valid_to: to } = list
  return {
    name,
    state: list.is_published ? list.state : 'not published',
    rows,
    revision,
    'valid from': from,
    'valid to': to,
    dimensions: list.price_dimensions.join(', '),
    currency: list.currency,
    'calendar to': list.last_date,
  }
}

export function addCreateList(program: Program): void {
  program
    .command('create-list')
    .description('Creates a price list. `load rows` or `sync` gives it products and publishes it.')
    .argument('<name>', 'the name of the price list')
    .requiredOption('--from <day>', 'the first day on which it is valid')
    .requiredOption('--to <day>', 'the last day')
    .option('--description <text>', 'what it is for')
    .option('--dimension <name>', 'a price column; may be repeated; price when left out', collect)
    .option('--margin-formula <formula>', 'how the margin is computed')
    .option('--filter <column=value>', 'only these products; may be repeated', condition)
    .option('--calendar', 'it has a price for each of the 365 days from the first')
    .option('--currency <code>', 'such as EUR')
    .option('--decimals <number>', 'the most decimals of a price; 6 when left out', digits)
    .option('--hide-unpriced', 'leaves prices that were never set out of reads')
    .option('--guardrail <name=limit>', 'a limit for changes; may be repeated', oneGuardrail)
    .addHelpText(
      'after',
      `
Guardrails: ${guardrailNames.join(', ')}.

Example:
  pricewell create-list 'Retail 2027' --from 2027-01-01 --to 2027-12-31 --currency EUR --decimals 2 --filter country=France \\
    --dimension retail --dimension wholesale --guardrail max_decrease_percent=30`,
    )
    .action(async (name, settings) => {
      const client = openClient()
      const { description, dimension, marginFormula, filter, currency, decimals, guardrail } =
        settings
      const body: Schemas['PriceListInput'] = {
        ...{ name, valid_from: settings.from, valid_to: settings.to },
        ...(description !== undefined && { description }),
        ...(dimension && { price_dimensions: dimension }),
        ...(marginFormula !== undefined && { margin_formula: marginFormula }),
        ...(filter && { product_filters: await castFilters(client, filter) }),
        ...(settings.calendar && { is_calendar: true }),
        ...(currency !== undefined && { currency }),
        ...(decimals !== undefined && { decimals }),
        ...(settings.hideUnpriced && { hide_unpriced: true }),
        ...(guardrail && { guardrails: guardrail }),
      }
      const { data } = await client.POST('/api/v1/price_list/bulk_create/', { body: [body] })
      const [made] = data
      answer(made, `Price list "${name}" created, id ${made?.id}.`)
    })
}

export const guardrailNames = [
  ...(['min_price', 'max_price', 'max_increase_percent', 'max_decrease_percent'] as const),
  ...(['min_margin_percent', 'no_zero', 'max_changed_percent', 'max_removed_percent'] as const),
]

function oneGuardrail(text: string, earlier: Schemas['Guardrails'] = {}): Schemas['Guardrails'] {
  const [, given, limit = 'true'] = /^(\w+)(?:=(.*))?$/s.exec(text) ?? []
  const name = guardrailNames.find((one) => one === given)
  if (name === 'no_zero' && limit === 'true') return { ...earlier, no_zero: true }
  if (!name || name === 'no_zero' || !/^-?\d+(\.\d+)?$/.test(limit))
    throw new InvalidArgumentError(
      'Must be a guardrail and its limit, such as min_price=1 or no_zero.',
    )
  return { ...earlier, [name]: Number(limit) }
}

export function addSync(program: Program): void {
  program
    .command('sync')
    .description('Makes a price list match the catalog and its filters, and publishes it.')
    .argument('<list>', 'the name of the price list')
    .option('--plan', 'only make a plan, which `apply` applies')
    .option('--note <text>', 'why, for the log')
    .addHelpText('after', "\nExample:\n  pricewell sync 'Retail 2026' --plan")
    .action(async (list, options) => {
      const synced = await sync(openClient(), list, options)
      if ('operation' in synced) answer(synced, planText(synced))
      else answer(synced, syncText(list, synced))
    })
}

interface SyncOptions {
  plan?: true | undefined
  note?: string | undefined
}

type Synced = Schemas['SyncResult'] & { revision?: number | undefined }

/** Returns the plan, or the result for the list, even when a job does the work. */
async function sync(
  client: PricewellClient,
  list: string,
  options: SyncOptions,
): Promise<Schemas['Plan'] | Synced> {
  const { plan, note } = options
  const { data, response } = await client.POST('/api/v1/prices/sync_with_catalog/', {
    params: {
      header: changeHeaders({ note }),
      query: plan ? { plan: 'true' } : {},
    },
    body: { price_list_name: list },
  })
  if (!isJob(data)) {
    if ('operation' in data) return data
    return { ...data, revision: Number(response.headers.get('price-list-revision')) }
  }
  const { result, revision } = await followJob(client, data.id)
  if (result && 'plan_id' in result) return readPlan(client, result.plan_id)
  return { ...(result as Schemas['SyncResult']), revision }
}

function syncText(list: string, { added, removed, untouched, revision }: Synced): string {
  const counts = { added, removed, untouched }
  const told = Object.entries(counts).map(([name, ids]) => `${number(ids.length)} ${name}`)
  return `${list}: ${told.join(', ')}; revision ${revision}.`
}
