import { type RawBuilder, sql } from 'kysely'
import { type Columns, findColumns } from '../catalog/columns.ts'
import { compileFilters, filterSql, type ProductFilters } from '../catalog/product-filters.ts'
import type { Answer, Origin, Schemas } from '../contract/operation.ts'
import { withinReadTime } from '../contract/read-cost.ts'
import { onlyRow } from '../database/only-row.ts'
import type { Trx } from '../database/pool.ts'
import { answerPlan, insertPlan } from '../plans/queries.ts'
import { termNames } from './queries.ts'

/** With more promotions than this, covered rows are not counted. */
const coveringMax = 1000

/**
 * Makes a promotions plan. `input` is a FROM item `input`: position and the promotion columns. Throws `too-costly` if
 * counting the covered rows takes too long.
 */
export async function planPromotions(
  trx: Trx,
  account: number,
  input: RawBuilder<unknown>,
  origin: Origin,
): Promise<Answer<Schemas['Plan']>> {
  const planId = await insertPlan(trx, account, { operation: 'promotions', origin })
  await storePromotions(trx, account, planId, input)
  const covered = await countCovered(trx, account, planId)
  const { summary: counts } = await onlyRow<{ summary: Schemas['PlanSummary'] }>(trx)`
    select json_build_object(
        'created', count(*) filter (where action = 'create'),
        'replaced', count(*) filter (where action = 'replace'),
        'unchanged', count(*) filter (where action = 'none')
      ) as summary
    from plan_rows where account_id = ${account} and plan_id = ${planId}`
  const summary = { ...counts, ...(covered !== undefined && { covered_rows: covered }) }
  return answerPlan(trx, account, planId, { summary, violations: [] })
}

/** SQL of a promotion as a JSON object, from the columns of `item`. */
function shownPromotion(item: string): RawBuilder<unknown> {
  const fields = termNames.map((name) => sql`${sql.lit(name)}, ${sql.ref(`${item}.${name}`)}`)
  return sql`jsonb_strip_nulls(jsonb_build_object(${sql.join(fields)}))`
}

/** SQL of the stored promotion `p` as a JSON object; null if there is none. */
export const storedPromotion = sql`case when p.id is not null then ${shownPromotion('p')} end`

async function storePromotions(
  trx: Trx,
  account: number,
  planId: number,
  input: RawBuilder<unknown>,
): Promise<void> {
  await sql`
    with planned as materialized (
      select input.position, input.name, ${storedPromotion} as before, ${shownPromotion('input')} as after
      from ${input} left join promotions p on p.account_id = ${account} and p.name = input.name collate "C"
    ), stored as (
      insert into plan_rows as stored (account_id, plan_id, place, position, name, before, after, action, reason)
      select plan.account_id, plan.id, row_number() over (order by name collate "C"), position, name, before, after,
        case when before is null then 'create' when before = after then 'none' else 'replace' end,
        case when before = after then 'unchanged' end
      from (select account_id, id from plans where account_id = ${account} and id = ${planId}) as plan cross join planned
      returning stored.place
    )
    select count(*) from stored`.execute(trx)
}

interface Planned {
  place: number
  after: { price_lists?: string[]; product_filters?: ProductFilters; price_dimensions?: string[] }
}

/**
 * Stores how many published rows each promotion covers. Returns how many they cover together, each row counted once;
 * undefined above `coveringMax` promotions, and where too many rows would be checked.
 */
async function countCovered(
  trx: Trx,
  account: number,
  planId: number,
): Promise<number | undefined> {
  const { rows } = await sql<Planned>`
    select place, after from plan_rows where account_id = ${account} and plan_id = ${planId} limit ${coveringMax + 1}`.execute(
    trx,
  )
  if (rows.length > coveringMax) return undefined
  if (rows.length === 0) return 0
  if ((await countRowsToCheck(trx, account, planId)) > rowsToCheckMax) return undefined
  const columns = await findColumns(trx, account)
  const covered = rows.map((planned) => coveredRows(account, columns, planned))
  const statement = sql<{ counts: string; all: number }>`
    with covered as materialized (${sql.join(covered, sql` union all `)})
    select (select count(*) from (select distinct price_list_id, id from covered) as once) as "all",
      (select coalesce(json_object_agg(place, rows), '{}') from (
        select place, count(*) as rows from covered group by place
      ) as counted)::text as counts`
  const advice = 'Plan fewer promotions at a time.'
  const { rows: counted } = await withinReadTime(advice, () => statement.execute(trx))
  const { counts = '{}', all = 0 } = counted[0] ?? {}
  await sql`
    update plan_rows r set covered_rows = coalesce((${counts}::jsonb ->> r.place::text)::integer, 0)
    where r.account_id = ${account} and r.plan_id = ${planId}`.execute(trx)
  return Number(all)
}

/** Checking so many rows takes 5 to 15 s. */
const rowsToCheckMax = 10_000_000

/** How many rows the lists of a plan's promotions have, each list counted once for each promotion. */
async function countRowsToCheck(trx: Trx, account: number, planId: number): Promise<number> {
  const { rows } = await onlyRow<{ rows: number }>(trx)`
    select coalesce(sum(l.row_count::bigint), 0) as rows
    from plan_rows plan
    join price_lists l on l.account_id = plan.account_id and coalesce(plan.after -> 'price_lists' ? l.name, true)
    where plan.account_id = ${account} and plan.plan_id = ${planId}`
  return rows
}

/** SQL of the published rows that a promotion covers. */
function coveredRows(account: number, columns: Columns, { place, after }: Planned) {
  const { price_lists, product_filters = {}, price_dimensions } = after
  const conditions = compileFilters(product_filters, columns)
  const ofLists = price_lists ? sql`and l.name = any(${price_lists}::text[])` : sql``
  const ofDimensions = price_dimensions
    ? sql`and l.price_dimensions && ${price_dimensions}::text[]`
    : sql``
  return sql`
    select ${place}::integer as place, r.price_list_id, r.id
    from price_lists l
    join price_list_rows r on r.account_id = ${account} and r.price_list_id = l.id and r.added_version <= l.version
      and (r.removed_version is null or r.removed_version > l.version)
    join products p on p.account_id = ${account} and p.id = r.product_id
    left join product_attributes a on a.account_id = ${account} and a.code = p.code
    where l.account_id = ${account} ${ofLists} ${ofDimensions} and ${filterSql(conditions)}`
}
