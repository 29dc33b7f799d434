import { type Selectable, sql } from 'kysely'
import type { Plans } from '../../generated/database.d.ts'
import { withName } from '../accounts/queries.ts'
import { Answer, type Origin, type Schemas } from '../contract/operation.ts'
import { Problem, tooManyRequests } from '../contract/problem.ts'
import { withoutAbsent } from '../contract/read-page.ts'
import { onlyRow } from '../database/only-row.ts'
import type { Trx } from '../database/pool.ts'
import { listName } from '../jobs/job-info.ts'

/** A plan to insert. */
export interface NewPlan {
  operation: Schemas['PlanOperation']
  /** The locked list; absent for promotions. */
  list?: { id: number; name: string; version: number }
  origin: Origin
  /** The parts of the call that applying the plan needs. */
  call?: object
}

/** Open and scheduled plans per account. */
const plansMax = 100
const openDays = 7

/** Makes a plan without rows, and returns its id. Throws `too-many-requests` at 100 open or scheduled plans. */
export async function insertPlan(
  trx: Trx,
  account: number,
  { operation, list, origin, call = {} }: NewPlan,
): Promise<number> {
  const { count } = await onlyRow<{ count: number }>(trx)`
    select count(*) as count from plans
    where account_id = ${account} and status in ('open', 'scheduled') and expires_at > now()`
  if (count >= plansMax) throw tooManyPlans()
  const { id } = await trx
    .insertInto('plans')
    .values({
      account_id: account,
      price_list_id: list?.id ?? null,
      operation,
      base_revision: list?.version ?? null,
      origin: JSON.stringify(await withName(trx, account, origin)),
      call: JSON.stringify(call),
      expires_at: sql`statement_timestamp() + make_interval(days => ${sql.lit(openDays)})`,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

const tooManyPlans = () =>
  tooManyRequests(`The account has ${plansMax} open plans. Apply or discard some.`, 60)

interface PlanTotals {
  summary: Schemas['PlanSummary']
  violations: Schemas['Plan']['violations']
}

/** Stores the plan's summary and violations. Returns the plan, with its path as `location`. */
export async function answerPlan(
  trx: Trx,
  account: number,
  id: number,
  { summary, violations }: PlanTotals,
): Promise<Answer<Schemas['Plan']>> {
  await trx
    .updateTable('plans')
    .set({ summary: JSON.stringify(summary), violations: JSON.stringify(violations) })
    .where('account_id', '=', account)
    .where('id', '=', id)
    .execute()
  return new Answer(planOf(await findPlan(trx, account, id)), { location: planPath(id) })
}

/** The path of a plan, for `Location`. */
export const planPath = (id: number) => `/api/v1/plans/${id}/`

/** A plan with its current status and the name of its list. */
export type StoredPlan = Selectable<Plans> & { price_list_name: string | null }

/** Selects an account's plans with their current status. */
export function selectPlans(trx: Trx, account: number) {
  const at = sql<Date | null>`case when not ${isAbandoned(account)} then apply_at end`
  return trx
    .selectFrom('plans')
    .selectAll()
    .select([
      listName(account, 'plans').as('price_list_name'),
      statusNow(account).as('status'),
      at.as('apply_at'),
    ])
    .where('account_id', '=', account)
}

/**
 * SQL of the current status, whatever the row still says: a plan past its expiry is expired, and one whose job was
 * refused, cancelled or given up is open again.
 */
export const statusNow = (account: number) => sql<string>`
  case when status in ('open', 'scheduled') and expires_at <= now() then 'expired'
    when ${isAbandoned(account)} then 'open' else status end`

/** SQL of whether a scheduled plan had a job, and that has ended. */
const isAbandoned = (account: number) => sql<boolean>`(
  status = 'scheduled' and (call -> 'hasJob')::boolean and not exists (
    select from jobs j where j.account_id = ${account} and j.status = 'progress' and j.kind = 'apply-plan'
      and (j.query ->> 'plan_id')::bigint = plans.id
  ))`

/** Finds a plan. Throws `not-found`, also for another account's plan. */
export async function findPlan(trx: Trx, account: number, id: number): Promise<StoredPlan> {
  const plan = await selectPlans(trx, account).where('id', '=', id).executeTakeFirst()
  if (!plan) throw new Problem('not-found', 'There is no such plan.')
  return plan
}

/** `findPlan`, with the plan locked until the transaction ends. */
export async function lockPlan(trx: Trx, account: number, id: number): Promise<StoredPlan> {
  const ofId = trx.selectFrom('plans').where('account_id', '=', account).where('id', '=', id)
  await ofId.select('id').forUpdate().execute()
  // Only a later statement sees the job that another call enqueued while this one waited.
  return findPlan(trx, account, id)
}

/** Locks a plan that is scheduled, due, and has no job yet; undefined if it is not. */
export async function lockDuePlan(
  trx: Trx,
  account: number,
  id: number,
): Promise<StoredPlan | undefined> {
  return (
    selectPlans(trx, account)
      .where('id', '=', id)
      .where(sql<boolean>`(${statusNow(account)}) = 'scheduled'`)
      .where(sql<boolean>`not (call -> 'hasJob')::boolean`)
      // The queue's moments are whole milliseconds.
      .where(sql<boolean>`apply_at <= clock_timestamp() + interval '1 second'`)
      .forUpdate()
      .executeTakeFirst()
  )
}

/** Throws `plan-not-open` unless the plan's status is allowed. */
export function rejectEnded({ id, status }: StoredPlan, allowed: readonly string[]): void {
  if (allowed.includes(status)) return
  throw new Problem('plan-not-open', `The plan ${id} is ${status}.`)
}

/** Discards the open and scheduled plans of a list. */
export async function discardPlansOf(
  trx: Trx,
  account: number,
  priceListId: number,
): Promise<void> {
  await trx
    .updateTable('plans')
    .set({ status: 'discarded', ended_at: sql`statement_timestamp()` })
    .where('account_id', '=', account)
    .where('price_list_id', '=', priceListId)
    .where('status', 'in', ['open', 'scheduled'])
    .execute()
}

/** A plan as the contract shows it. */
export function planOf(plan: StoredPlan): Schemas['Plan'] {
  const { id, status, operation, price_list_id, price_list_name, base_revision, revision } = plan
  const { actor, note } = plan.origin as unknown as Origin
  const {
    conflicts = 0,
    skipped = conflicts,
    application,
  } = plan.call as {
    conflicts?: number
    skipped?: number
    application?: { origin: Origin }
  }
  return withoutAbsent({
    id,
    status,
    operation,
    price_list_id,
    price_list_name,
    base_revision,
    created_at: plan.created_at.toISOString(),
    expires_at: plan.expires_at.toISOString(),
    apply_at: plan.apply_at?.toISOString(),
    actor,
    note: application?.origin.note ?? note,
    summary: plan.summary,
    violations: plan.violations,
    revision,
    ...(skipped > 0 && { skipped }),
    error: plan.error,
  }) as unknown as Schemas['Plan']
}
