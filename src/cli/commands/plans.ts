import { Option } from '@commander-js/extra-typings'
import type { PricewellClient, Schemas } from '../../client/index.ts'
import { readPlan } from '../follow-job.ts'
import { idShownBy } from '../option-values.ts'
import { planText } from '../plan-text.ts'
import { answer, type Program } from '../program.ts'
import { openClient } from '../session.ts'
import { number, type TableRow, table } from '../terminal.ts'
import { findList, writeExport } from './export.ts'
import { guardrailNames } from './lists.ts'

const plansShown = 25
const rowsShown = 50

const statuses = ['open', 'scheduled', 'applied', 'failed', 'discarded', 'expired'] as const
const reasons = ['unchanged', 'no_value', 'negative', 'too_large'] as const
const planRowsPath = '/api/v1/plans/{id}/rows/'
const actions = ['price', 'add', 'remove', 'create', 'replace', 'none'] as const

export function addPlans(program: Program): void {
  program
    .command('plans')
    .description(
      `Shows the last ${plansShown} plans: bulk writes to review before they are applied.`,
    )
    .addOption(new Option('--status <status>', 'only plans with this status').choices(statuses))
    .option('--list <name>', 'only plans for this price list')
    .addHelpText('after', '\nExample:\n  pricewell plans --status open')
    .action(async ({ status, list }) => {
      const client = openClient()
      const plans = await lastPlans(client, {
        ...(status !== undefined && { status }),
        ...(list !== undefined && { price_list_id: await findList(client, list) }),
      })
      const none = status || list ? 'There are no such plans.' : 'There are no plans.'
      answer(plans, table(plans.map(listed), none))
    })
}

interface Wanted {
  status?: Schemas['PlanStatus']
  price_list_id?: number
}

/** Newest last, as the service lists them. */
async function lastPlans({ GET }: PricewellClient, wanted: Wanted): Promise<Schemas['Plan'][]> {
  const page = async (offset: number, limit: number) => {
    const params = { query: { ...wanted, offset, limit } }
    return (await GET('/api/v1/plans/', { params })).data
  }
  const { count, results } = await page(0, plansShown)
  return count <= plansShown ? results : (await page(count - plansShown, plansShown)).results
}

function listed(plan: Schemas['Plan']): TableRow {
  const { id, status, operation, price_list_name: list, summary, violations } = plan
  const { changed, increases, decreases, added, removed } = summary
  return {
    ...{ id, status, operation, list, changed, increases, decreases, added, removed },
    violations: violations.reduce((sum, { rows }) => sum + rows, 0) || undefined,
    who: plan.actor.name,
    made: plan.created_at,
    'apply at': plan.apply_at,
  }
}

export function addPlan(program: Program): void {
  program
    .command('plan')
    .description('Shows what a plan would do: totals and the largest changes.')
    .argument('<id>', 'the id of the plan', idShownBy('pricewell plans'))
    .addOption(new Option('--action <action>', 'only rows with this action').choices(actions))
    .addOption(
      new Option('--violation <guardrail>', 'only rows that violate it').choices(guardrailNames),
    )
    .addOption(
      new Option('--reason <reason>', 'only rows to which nothing happens for it').choices(reasons),
    )
    .option('-o, --output <file>', 'writes all rows to this .csv or .ndjson file (also .gz)')
    .addHelpText(
      'after',
      `
Shows ${rowsShown} rows at most; a file has all.

Examples:
  pricewell plan 3 --violation max_increase_percent
  pricewell plan 3 -o changes.csv`,
    )
    .action(async (id, { action, violation, reason, output }) => {
      const filters = {
        ...{ order: 'change' as const },
        ...(action && { action }),
        ...(violation && { violation }),
        ...(reason && { reason }),
      }
      if (output !== undefined) {
        const collection = { path: planRowsPath, query: filters } as const
        return writeExport({ output }, { name: `plan ${id}`, collection, id })
      }
      const client = openClient()
      const query = { ...filters, limit: rowsShown }
      const [plan, { data }] = await Promise.all([
        readPlan(client, id),
        client.GET(planRowsPath, { params: { path: { id }, query } }),
      ])
      answer({ ...plan, rows: data.results }, `${rowsText(data)}\n\n${planText(plan)}`)
    })
}

function rowsText({ count, results }: Schemas['PlanRowPage']): string {
  const left = count - results.length
  const more = left > 0 ? `\nand ${number(left)} more` : ''
  return table(results.map(planned), 'No row of the plan matches.') + more
}

function planned({ violations = [], before, after, inputs, ...row }: Schemas['PlanRow']): TableRow {
  const { margin_before: _, margin_after: margin, change_percent: change, ...others } = row
  return {
    ...(others as TableRow),
    ...{ change, margin },
    ...changedFields(before, after),
    violations: violations.join(', '),
  }
}

type Promotion = Schemas['PlannedPromotion'] | undefined

/** How the kind, value and days of a promotion change. */
function changedFields(before: Promotion, after: Promotion): TableRow {
  const fields = ['kind', 'value', 'valid_from', 'valid_to'] as const
  const said = fields.map((field) => {
    const [was, is] = [before?.[field], after?.[field]]
    return [field, was === undefined || was === is ? is : `${was} -> ${is}`]
  })
  return after ? Object.fromEntries(said) : {}
}

export function addDiscard(program: Program): void {
  program
    .command('discard')
    .description('Discards an open or scheduled plan: it can no longer be applied.')
    .argument('<id>', 'the id of the plan', idShownBy('pricewell plans'))
    .addHelpText('after', '\nExample:\n  pricewell discard 3')
    .action(async (id) => {
      const client = openClient()
      await client.DELETE('/api/v1/plans/{id}/', { params: { path: { id } } })
      answer(await readPlan(client, id), `Plan ${id} is discarded.`)
    })
}
