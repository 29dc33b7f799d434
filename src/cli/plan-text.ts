import type { Schemas } from '../client/index.ts'
import { number } from './terminal.ts'

type Plan = Schemas['Plan']

/** Describes what a plan would do, in lines for people, with the next step. */
export function planText(plan: Plan): string {
  const { id, operation, price_list_name: list, status } = plan
  const title = [`Plan ${id}: ${operation}`, ...(list === undefined ? [] : [list]), status]
  const facts = Object.entries({ ...figures(plan.summary), ...circumstances(plan) })
  const lines = facts.filter(([, said]) => said !== undefined && said !== '')
  const width = Math.max(...lines.map(([name]) => name.length))
  return [
    title.join(', '),
    ...lines.map(([name, said]) => `  ${name.padEnd(width)}  ${said}`),
    ...nextStep(plan),
  ].join('\n')
}

type Facts = Record<string, string | undefined>

function figures(summary: Plan['summary']): Facts {
  const counts = Object.fromEntries(
    summaryFields.map((name) => [words(name), count(summary[name])]),
  )
  const { largest_increase_percent: up, largest_decrease_percent: down } = summary
  const { margin_before: before, margin_after: after, average_change_percent: average } = summary
  return {
    ...counts,
    'average change': average == null ? undefined : signed(average),
    'largest increase': up == null ? undefined : signed(up),
    'largest decrease': down == null ? undefined : signed(-down),
    margin: before == null || after == null ? undefined : `${percent(before)} to ${percent(after)}`,
    'negative margin': summary.negative_margin ? number(summary.negative_margin) : undefined,
  }
}

/** Row counts in display order. */
const summaryFields = [
  ...(['rows', 'changed', 'unchanged', 'without_value', 'increases', 'decreases'] as const),
  ...(['added', 'removed'] as const),
  ...(['created', 'replaced', 'covered_rows'] as const),
]

const words = (name: string) => name.replaceAll('_', ' ')
/** Leaves out zero counts. */
const count = (value: number | undefined) => (value ? number(value) : undefined)
const percent = (value: number) => `${value.toLocaleString('en', { maximumFractionDigits: 2 })} %`
const signed = (value: number) => `${value > 0 ? '+' : ''}${percent(value)}`

function circumstances({ violations, actor, note, ...plan }: Plan): Facts {
  return {
    violations: violations.map(({ guardrail, rows }) => `${guardrail} ${number(rows)}`).join(', '),
    by: `${actor.name}, ${plan.created_at}`,
    note,
    'apply at': plan.apply_at,
    revision: plan.revision?.toString(),
    'left out': count(plan.skipped),
    refused: plan.error?.detail,
    'open until': plan.status === 'open' ? plan.expires_at : undefined,
  }
}

function nextStep({ id, status, violations }: Plan): string[] {
  if (status === 'scheduled') return [`\`pricewell discard ${id}\` cancels it.`]
  if (status === 'failed')
    return [
      'It cannot be applied any more: make the plan again. With `apply --at`, --skip leaves rows out and --override',
      "'<reason>' lets them pass the guardrails.",
    ]
  if (status !== 'open') return []
  const apply = `\`pricewell apply ${id}\``
  if (violations.length === 0)
    return [`${apply} applies it, \`pricewell plan ${id}\` shows its rows.`]
  return [
    `\`pricewell plan ${id}\` shows its rows. ${apply} is refused for its violations unless --skip violations`,
    "leaves them out or --override '<reason>' lets them pass.",
  ]
}
