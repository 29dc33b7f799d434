import { sql } from 'kysely'
import { Problem } from '../contract/problem.ts'
import { listedMax } from '../contract/row-errors.ts'
import type { Trx } from '../database/pool.ts'
import { type Column, type Columns, defaultMarginFormula } from './columns.ts'

/** The columns before and after a declaration that replaces them. */
export interface Replacement {
  account: number
  present: Columns
  next: Columns
}

interface Naming {
  what: string
  column: string
  total: number
}

/** Throws `schema-in-use` with everything that still names a removed column. */
export async function rejectUsedColumns(
  trx: Trx,
  { account, present, next }: Replacement,
): Promise<void> {
  const isKept = (column: Column) => next.all.some((other) => isSameColumn(other, column))
  const gone = present.all.filter((column) => column.kind !== 'cost' && !isKept(column))
  // A formula may name a cost by its letter.
  const costs = present.costs.filter(
    (cost) => !next.costs.some(({ name, letter }) => name === cost.name && letter === cost.letter),
  )
  const names = sql`${gone.map(({ name }) => name)}::text[]`
  const quoted = costs.map((cost) => (isKept(cost) ? null : `"${cost.name.replaceAll('"', '""')}"`))
  const { rows } = await sql<Naming>`
    select what, "column", count(*) over () as total from (
      select 'the filters of the price list ' || to_json(l.name) as what, filter.name as "column"
      from price_lists l cross join lateral jsonb_object_keys(l.product_filters) as filter (name)
      where l.account_id = ${account} and filter.name = any(${names})
      union all
      select 'the margin formula of the price list ' || to_json(l.name), cost.name
      from price_lists l cross join unnest(${costs.map(({ name }) => name)}::text[], ${quoted}::text[],
        ${costs.map(({ letter }) => letter)}::text[]) as cost (name, quoted, letter)
      where l.account_id = ${account} and l.margin_formula <> all(${defaultFormulas(present)}::text[])
        and (position(cost.quoted in l.margin_formula) > 0
          or regexp_replace(l.margin_formula, '"([^"]|"")*"', ' ', 'g') ~ ('\\m' || cost.letter || '\\M'))
      union all
      select 'the filters of the promotion ' || to_json(p.name), filter.name
      from promotions p cross join lateral jsonb_object_keys(p.product_filters) as filter (name)
      where p.account_id = ${account} and filter.name = any(${names})
      union all
      select 'the filters of the promotion ' || to_json(r.name) || ' in the plan ' || r.plan_id, filter.name
      from plans p join plan_rows r on r.account_id = ${account} and r.plan_id = p.id
      cross join lateral jsonb_object_keys(r.after -> 'product_filters') as filter (name)
      where p.account_id = ${account} and p.operation = 'promotions' and p.status in ('open', 'scheduled')
        and p.expires_at > now() and filter.name = any(${names})
      union all
      select 'the competitor schema', named ->> 'name'
      from competitor_schemas s cross join lateral jsonb_array_elements(s.columns) as named
      where s.account_id = ${account} and named ->> 'name' = any(${names})
    ) as naming
    order by what, "column" limit ${listedMax}`.execute(trx)
  if (rows.length > 0) throw columnsInUse(rows)
}

function isSameColumn(a: Column, b: Column): boolean {
  const terms = ({ name, kind, type, allowed_values }: Column) =>
    JSON.stringify([name, kind, type, allowed_values])
  return terms(a) === terms(b)
}

/** How many are named in the detail; all are errors. */
const toldMax = 10

function columnsInUse(namings: Naming[]): Problem {
  const said = namings.map(({ what, column }) => `${JSON.stringify(column)} in ${what}`)
  const errorCount = namings[0]?.total ?? 0
  const more = errorCount > toldMax ? `, and ${errorCount - toldMax} more` : ''
  const detail = `Columns that would go are in use: ${said.slice(0, toldMax).join(', ')}${more}. Nothing was written.`
  const errors = said.map((message) => ({ pointer: '', code: 'in_use' as const, message }))
  return new Problem('schema-in-use', detail, { errors, errorCount })
}

/** The default formulas that lists may have, one for each number of costs that were appended. */
function defaultFormulas({ costs }: Columns): string[] {
  return [...costs, undefined].map((_, count) => defaultMarginFormula(costs.slice(0, count)))
}

/** Gives lists with a default formula the default of the new columns. */
export async function renewDefaultFormulas(
  trx: Trx,
  { account, present, next }: Replacement,
): Promise<void> {
  await sql`
    update price_lists set margin_formula = ${defaultMarginFormula(next.costs)}
    where account_id = ${account} and margin_formula = any(${defaultFormulas(present)}::text[])`.execute(
    trx,
  )
}

/** Whether other extensions identify rows than before. */
export function hasOtherKeys({ present, next }: Pick<Replacement, 'present' | 'next'>): boolean {
  const keys = ({ extensions }: Columns) =>
    JSON.stringify(extensions.map(({ name, type }) => [name, type]))
  return keys(present) !== keys(next)
}

/**
 * Ends what identifies rows by the former extensions: the history of lists, which are empty, starts anew, and plans of
 * lists are discarded and lose their rows.
 */
export async function forgetFormerKeys(trx: Trx, account: number): Promise<void> {
  await sql`
    update price_lists set oldest_revision = version, oldest_at = statement_timestamp()
    where account_id = ${account} and version > 0`.execute(trx)
  await sql`
    update plans set status = 'discarded', ended_at = statement_timestamp()
    where account_id = ${account} and price_list_id is not null and status in ('open', 'scheduled')`.execute(
    trx,
  )
  await sql`delete from plan_rows where account_id = ${account} and name is null`.execute(trx)
}
