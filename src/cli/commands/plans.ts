import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import {
  isJob,
  type Job,
  JobFailed,
  type PricewellClient,
  Problem,
  type Schemas,
} from '../../client/index.ts'
import { changeHeaders, type SaidOfChange } from '../change-headers.ts'
import { Failed } from '../faults.ts'
import { planText } from '../plan-text.ts'
import { answer, type Program, type Shared } from '../program.ts'
import { readPlan } from '../send-file.ts'
import { openClient } from '../session.ts'
import { number, rowCount, type TableRow, table } from '../terminal.ts'
import { findList } from './export.ts'
import { followJob, idShownBy } from './jobs.ts'

const plansShown = 25
const rowsShown = 50

const statuses = ['open', 'scheduled', 'applied', 'failed', 'discarded', 'expired'] as const
const actions = ['price', 'add', 'remove', 'create', 'replace', 'none'] as const
const guardrails = [
  ...(['min_price', 'max_price', 'max_increase_percent', 'max_decrease_percent'] as const),
  ...(['min_margin_percent', 'no_zero', 'max_changed_percent', 'max_removed_percent'] as const),
]

/** `pricewell plans`. */
export function addPlans(program: Program): void {
  program
    .command('plans')
    .description(
      `Shows the last ${plansShown} plans: bulk writes to look at before they are applied.`,
    )
    .addOption(new Option('--status <status>', 'only plans of this status').choices(statuses))
    .option('--list <name>', 'only plans for this price list')
    .addHelpText('after', '\nExample:\n  pricewell plans --status open')
    .action(async (_options, command) => {
      const { status, list, ...options } = command.optsWithGlobals()
      const client = openClient(options)
      const plans = await lastPlans(client, {
        ...(status !== undefined && { status }),
        ...(list !== undefined && { price_list_id: await findList(client, list) }),
      })
      answer(options, plans, plans.length > 0 ? table(plans.map(listed)) : 'There are no plans.')
    })
}

interface Wanted {
  status?: Schemas['PlanStatus']
  price_list_id?: number
}

/** The newest last, as the service lists them. */
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
    'applied at': plan.apply_at,
  }
}

/** `pricewell plan`. */
export function addPlan(program: Program): void {
  program
    .command('plan')
    .description('Shows what a plan would do: in numbers, and its largest changes.')
    .argument('<id>', 'the id of the plan', idShownBy('pricewell plans'))
    .addOption(new Option('--action <action>', 'only rows with this action').choices(actions))
    .addOption(
      new Option('--violation <guardrail>', 'only rows that violate it').choices(guardrails),
    )
    .addHelpText(
      'after',
      `\nShows ${rowsShown} rows at most.\n\nExample:\n  pricewell plan 3 --violation max_increase_percent`,
    )
    .action(async (id, _options, command) => {
      const { action, violation, ...options } = command.optsWithGlobals()
      const client = openClient(options)
      const query = {
        ...{ limit: rowsShown, order: 'change' as const },
        ...(action && { action }),
        ...(violation && { violation }),
      }
      const [plan, { data }] = await Promise.all([
        readPlan(client, id),
        client.GET('/api/v1/plans/{id}/rows/', { params: { path: { id }, query } }),
      ])
      answer(options, { ...plan, rows: data.results }, `${rowsText(data)}\n\n${planText(plan)}`)
    })
}

function rowsText({ count, results }: Schemas['PlanRowPage']): string {
  if (results.length === 0) return 'No row of the plan matches.'
  const left = count - results.length
  const more = left > 0 ? `\nand ${number(left)} more` : ''
  return table(results.map(planned)) + more
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

/** What becomes of the kind, the value and the days of a promotion. */
function changedFields(before: Promotion, after: Promotion): TableRow {
  const fields = ['kind', 'value', 'valid_from', 'valid_to'] as const
  const said = fields.map((field) => {
    const [was, is] = [before?.[field], after?.[field]]
    return [field, was === undefined || was === is ? is : `${was} -> ${is}`]
  })
  return after ? Object.fromEntries(said) : {}
}

/** `pricewell apply`. */
export function addApply(program: Program): void {
  program
    .command('apply')
    .description('Does what a plan shows, now or at a moment.')
    .argument('<id>', 'the id of the plan', idShownBy('pricewell plans'))
    .option('--at <moment>', 'a day and time at which the service applies it')
    .option('--skip <what>', 'leaves out rows that are stale or that violate guardrails', readSkip)
    .option('--note <text>', "why, for the log, in place of the plan's note")
    .option('--override <reason>', 'lets it pass the guardrails; needs the scope override')
    .addHelpText(
      'after',
      `
Stale rows were changed since the plan was made.

Examples:
  pricewell apply 3 --skip stale,violations
  pricewell apply 3 --at 2026-12-01T00:00:00Z`,
    )
    .action(async (id, _options, command) => {
      const options = command.optsWithGlobals()
      const client = openClient(options)
      const skipped = await apply(client, id, options).catch((fault) => {
        throw options.json ? fault : refusal(fault, id, options.skip ?? [])
      })
      const plan = await readPlan(client, id)
      answer(options, { ...plan, skipped }, applied(plan, skipped))
    })
}

type Skip = NonNullable<Schemas['ApplyInput']['skip']>

interface Wish extends Shared, SaidOfChange {
  at?: string | undefined
  skip?: Skip | undefined
}

/** Applies a plan and follows the job if there is one. Returns how many rows were left out. */
async function apply(client: PricewellClient, id: number, wish: Wish): Promise<number> {
  const { at, skip } = wish
  const { data, response } = await client.POST('/api/v1/plans/{id}/apply/', {
    params: {
      path: { id },
      header: changeHeaders(wish),
    },
    body: { ...(at !== undefined && { at }), ...(skip && { skip }) },
  })
  if (!isJob(data)) return Number(response.headers.get('skipped-rows') ?? 0)
  const { result = [] } = await followJob(client, data.id, wish)
  return 'skipped' in result ? (result.skipped ?? 0) : 0
}

function applied({ id, status, revision, apply_at }: Schemas['Plan'], skipped: number): string {
  if (status === 'scheduled')
    return `Plan ${id} will be applied at ${apply_at}. \`pricewell plan ${id}\` shows what became of it.`
  const change = revision === undefined ? '' : `: revision ${revision}`
  return `Plan ${id} is applied${change}${skipped > 0 ? `, ${rowCount(skipped)} left out` : ''}.`
}

type Fault = Pick<Job['errors'][number], 'code' | 'message' | 'cell'>

/** What a plan was refused for, with the first rows, and what to do. Other faults stay what they are. */
function refusal(fault: unknown, id: number, skip: Skip): unknown {
  const isOfJob = fault instanceof JobFailed
  if (!isOfJob && !(fault instanceof Problem)) return fault
  const { errors } = isOfJob ? fault.job : fault
  const type = isOfJob ? errors[0]?.code : fault.type
  if (type !== 'plan-stale' && type !== 'guardrail-violated') return fault
  const rows: Fault[] = isOfJob ? errors.slice(1) : errors
  const total = isOfJob ? fault.job.progress.error : fault.errorCount
  const more = total - Math.min(rows.length, rowsShown)
  const what = type === 'plan-stale' ? 'stale' : 'violations'
  return new Failed(
    [
      `Plan ${id} was not applied: ${reasons[what](total)}.`,
      ...rows.slice(0, rowsShown).map((row) => `  ${place(row)}${row.message}`),
      ...(more > 0 ? [`  and ${number(more)} more`] : []),
      isOfJob ? 'The plan has failed. Make it again.' : advice(what, id, rows, skip),
    ].join('\n'),
  )
}

const reasons = {
  stale: (rows: number) => `${rowCount(rows)} changed since it was made`,
  violations: (count: number) =>
    `${number(count)} ${count === 1 ? 'violation' : 'violations'} of guardrails`,
}

const place = ({ cell }: Fault) => (cell ? `${Object.values(cell).join(', ')}: ` : '')

function advice(what: Skip[number], id: number, rows: Fault[], skip: Skip): string {
  const command = `pricewell apply ${id} --skip ${[...new Set([...skip, what])].join()}`
  if (what === 'stale') return `Leave them out with \`${command}\`, or make a new plan.`
  const pass = "let them pass with --override '<reason>'"
  // Guardrails of the whole list have no rows to leave out.
  const isOfRows = rows.some(({ cell }) => cell !== undefined)
  return isOfRows ? `Leave them out with \`${command}\`, or ${pass}.` : `You can ${pass}.`
}

function readSkip(text: string): Skip {
  const named = text.split(',').map((word) => word.trim())
  const known = named.filter((word) => word === 'stale' || word === 'violations')
  if (known.length < named.length)
    throw new InvalidArgumentError('It is stale, violations, or both with a comma between.')
  return [...new Set(known)]
}
