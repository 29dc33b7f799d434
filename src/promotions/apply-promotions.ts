import { sql } from 'kysely'
import { lockAccount } from '../accounts/queries.ts'
import { Problem } from '../contract/problem.ts'
import { listedMax } from '../contract/row-errors.ts'
import { readNumbers } from '../database/array-literal.ts'
import { selectedRows } from '../database/input-rows.ts'
import { onlyRow } from '../database/only-row.ts'
import type { Trx } from '../database/pool.ts'
import type { StoredPlan } from '../plans/queries.ts'
import { storedPromotion } from './plan-promotions.ts'
import { changePromotions, upsertFrom } from './upsert-promotions.ts'

/** Promotion ids in the order of the planned call, and the number of plan rows left out. */
export interface AppliedPromotions {
  created: number[]
  updated: number[]
  skipped: number
}

/** Applies a promotions plan. Throws `plan-stale` if promotions have changed since, unless `skip` has `stale`. */
export async function applyPromotions(
  trx: Trx,
  plan: StoredPlan,
  skip: ReadonlySet<string>,
): Promise<AppliedPromotions> {
  const { account_id: account, id } = plan
  // Other requests that change promotions wait, so that none changes one between the check and the write.
  await lockAccount(trx, account)
  const stale = await findStale(trx, plan)
  if (stale.length > 0 && !skip.has('stale')) throw planStale(stale)
  const planned = sql`
    plan_rows r where r.account_id = ${account} and r.plan_id = ${id} and r.name <> all(${stale}::text[])`
  const input = selectedRows(sql`(
    select r.name, r.after ->> 'kind' as kind, (r.after -> 'value')::numeric as value,
      (r.after ->> 'valid_from')::date as valid_from, (r.after ->> 'valid_to')::date as valid_to,
      ${arrayIn('price_lists')} as price_lists, r.after -> 'product_filters' as product_filters,
      ${arrayIn('price_dimensions')} as price_dimensions
    from ${planned} and r.action <> 'none' order by r.name
  ) as input`)
  const which = sql<boolean>`name in (select r.name from ${planned} and r.action <> 'none')`
  await changePromotions(trx, account, which, (at) => upsertFrom(account, input, at))
  const { created, updated } = await onlyRow<Record<'created' | 'updated', string | null>>(trx)`
    select array_agg(p.id order by r.position) filter (where r.action = 'create')::text as created,
      array_agg(p.id order by r.position) filter (where r.action <> 'create')::text as updated
    from promotions p, ${planned} and p.account_id = ${account} and p.name = r.name`
  const ids = (text: string | null) => readNumbers(text)
  return { created: ids(created), updated: ids(updated), skipped: stale.length }
}

/** SQL of a list in a planned promotion. */
const arrayIn = (name: string) => sql`(
  select array_agg(one) from jsonb_array_elements_text(r.after -> ${sql.lit(name)}) as one
)`

/**
 * The names of promotions that have changed since the plan was made, even if they changed back, or name a list that no
 * longer exists.
 */
async function findStale(trx: Trx, { account_id: account, id }: StoredPlan): Promise<string[]> {
  const since = sql`(select created_at from plans where account_id = ${account} and id = ${id})`
  const { rows } = await sql<{ name: string }>`
    select r.name from plan_rows r
    left join promotions p on p.account_id = ${account} and p.name = r.name
    where r.account_id = ${account} and r.plan_id = ${id} and (${storedPromotion} is distinct from r.before
      or p.changed_at > ${since} or exists (
        select from promotion_versions v where v.account_id = ${account} and v.name = r.name and v.until_at > ${since}
      ) or exists (
        select from jsonb_array_elements_text(r.after -> 'price_lists') as named (list)
        where not exists (select from price_lists l where l.account_id = ${account} and l.name = named.list collate "C")
      ))
    order by r.place`.execute(trx)
  return rows.map(({ name }) => name)
}

function planStale(names: string[]): Problem {
  const errors = names.slice(0, listedMax).map((name) => ({
    pointer: '',
    code: 'stale' as const,
    message: `the promotion ${JSON.stringify(name)} was changed since the plan was made`,
  }))
  const what = names.length === 1 ? '1 promotion was' : `${names.length} promotions were`
  const detail = `${what} changed since the plan was made. Nothing was written; \`skip: ["stale"]\` leaves them out.`
  return new Problem('plan-stale', detail, { errors, errorCount: names.length })
}
