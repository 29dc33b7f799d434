import { InvalidArgumentError } from '@commander-js/extra-typings'
import {
  isJob,
  JobFailed,
  type PricewellClient,
  Problem,
  type Schemas,
  Unreachable,
} from '../../client/index.ts'
import { sentence } from '../../client/problem.ts'
import { type ChangeOptions, changeHeaders } from '../change-headers.ts'
import { Failed, problemOf } from '../faults.ts'
import { followJob, readPlan } from '../follow-job.ts'
import { idShownBy } from '../option-values.ts'
import { answer, type Program } from '../program.ts'
import { openClient } from '../session.ts'
import { firstLines, number, rowCount } from '../terminal.ts'

const rowsShown = 50

export function addApply(program: Program): void {
  program
    .command('apply')
    .description('Applies a plan, now or at a given time.')
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
    .action(async (id, options) => {
      const client = openClient()
      const skipped = await apply(client, id, options).catch((fault) => {
        throw program.opts().json ? fault : refusal(fault, id, options.skip ?? [])
      })
      const plan = await readPlan(client, id).catch((cause) => {
        const now = options.at === undefined ? 'applied' : 'scheduled'
        throw new Unreachable(`Plan ${id} is ${now}. ${cause.message}`, { cause })
      })
      answer({ ...plan, skipped }, applied(plan, skipped))
    })
}

type Skip = NonNullable<Schemas['ApplyInput']['skip']>

interface ApplyOptions extends ChangeOptions {
  at?: string | undefined
  skip?: Skip | undefined
}

/** Applies a plan and follows the job, if any. Returns how many rows were left out. */
async function apply(client: PricewellClient, id: number, options: ApplyOptions): Promise<number> {
  const { at, skip } = options
  const { data, response } = await client.POST('/api/v1/plans/{id}/apply/', {
    params: {
      path: { id },
      header: changeHeaders(options),
    },
    body: { ...(at !== undefined && { at }), ...(skip && { skip }) },
  })
  if (!isJob(data)) return Number(response.headers.get('skipped-rows') ?? 0)
  const { result = [] } = await followJob(client, data.id)
  return 'skipped' in result ? (result.skipped ?? 0) : 0
}

function applied({ id, status, revision, apply_at }: Schemas['Plan'], skipped: number): string {
  if (status === 'scheduled')
    return `Plan ${id} will be applied at ${apply_at}. \`pricewell plan ${id}\` shows what became of it.`
  const change = revision === undefined ? '' : `: revision ${revision}`
  return `Plan ${id} is applied${change}${skipped > 0 ? `, ${rowCount(skipped)} left out` : ''}.`
}

/** Tells why a plan was refused, with the first rows and what to do. Returns other faults unchanged. */
function refusal(fault: unknown, id: number, skip: Skip): unknown {
  const problem = fault instanceof JobFailed ? problemOf(fault.job) : fault
  if (!(problem instanceof Problem)) return fault
  const { type, errors: rows, errorCount: total } = problem
  if (type !== 'plan-stale' && type !== 'guardrail-violated') return fault
  const what = type === 'plan-stale' ? 'stale' : 'violations'
  return new Failed(
    [
      `Plan ${id} was not applied: ${reasons[what](total)}.`,
      ...firstLines(rows.map(sentence), rowsShown, total),
      advice(what, id, rows, skip),
    ].join('\n'),
  )
}

const reasons = {
  stale: (rows: number) => `${rowCount(rows)} changed since it was made`,
  violations: (count: number) =>
    `${number(count)} guardrail ${count === 1 ? 'violation' : 'violations'}`,
}

function advice(what: Skip[number], id: number, rows: Problem['errors'], skip: Skip): string {
  const command = `pricewell apply ${id} --skip ${[...new Set([...skip, what])].join()}`
  if (what === 'stale') return `Leave them out with \`${command}\`, or make a new plan.`
  const pass = "let them pass with --override '<reason>'"
  // Guardrails on the whole list have no rows to leave out.
  const isOfRows = rows.some(({ cell }) => cell !== undefined)
  return isOfRows ? `Leave them out with \`${command}\`, or ${pass}.` : `You can ${pass}.`
}

function readSkip(text: string): Skip {
  const named = text.split(',').map((word) => word.trim())
  const known = named.filter((word) => word === 'stale' || word === 'violations')
  if (known.length < named.length)
    throw new InvalidArgumentError('Must be stale, violations, or stale,violations.')
  return [...new Set(known)]
}
