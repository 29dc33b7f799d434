import { sql } from 'kysely'
import {
  Answer,
  backgroundThreshold,
  cellsAtOnceMax,
  type Origin,
  type Schemas,
} from '../../contract/operation.ts'
import { invalidRequest } from '../../contract/row-errors.ts'
import { useLargeMemory } from '../../database/planner.ts'
import type { Trx } from '../../database/pool.ts'
import { onFreeList, rejectBusy } from '../../jobs/list-order.ts'
import { utcTimestamp } from '../../lib/formats.ts'
import { findPlan, lockPlan, rejectEnded, type StoredPlan } from '../../plans/queries.ts'
import { enqueueApplication, schedulePlan } from '../../plans/schedule.ts'
import { recordRevision, revisionHeader } from '../../price-lists/history/record-revision.ts'
import { lockPriceList, rejectUnmanaged } from '../../price-lists/queries.ts'
import { applyPromotions } from '../../promotions/apply-promotions.ts'
import type { Application } from './application.ts'
import { applyAddedProducts, applyRemovedProducts, applyRevert, applySync } from './apply-moves.ts'
import { applyPrices } from './apply-prices.ts'
import type { RevertCall } from './plan-moves.ts'

/** A call or job that applies a plan, and what it leaves out. */
interface Call {
  skip?: ('stale' | 'violations')[] | undefined
  origin: Origin
  /** The job that applies it. */
  job?: number | undefined
}

const daysAheadMax = 400

/**
 * Applies a plan now or at a given time. Returns what the planned call would have returned, the scheduled plan, or the
 * job.
 */
export const applyPlan = onFreeList<'applyPlan'>(
  async (trx, { account, params, body, origin }, { boss }) => {
    rejectFaultyMoment(body.at)
    const plan = await lockPlanWithList(trx, account, params.id)
    rejectEnded(plan, ['open'])
    const call = { skip: body.skip, origin }
    if (body.at !== undefined)
      return schedulePlan(trx, boss, plan, { ...call, at: utcTimestamp(body.at) })
    if (plan.price_list_id !== null) await rejectBusy(trx, account, plan.price_list_id)
    if (isLarge(plan)) return enqueueApplication(trx, boss, plan, call)
    const { answer } = await apply(trx, plan, call)
    return answer
  },
)

/** Locks a plan after its list, the order that all writers use. */
export async function lockPlanWithList(trx: Trx, account: number, id: number): Promise<StoredPlan> {
  const plan = await findPlan(trx, account, id)
  // The list of a discarded plan may be deleted.
  if (['open', 'scheduled'].includes(plan.status) && plan.price_list_id !== null)
    await lockPriceList(trx, account, { id: plan.price_list_id })
  return lockPlan(trx, account, id)
}

/** Throws `invalid-request` for a moment that has passed, or is too far ahead. */
function rejectFaultyMoment(at: string | undefined): void {
  if (at === undefined) return
  const ahead = Date.parse(utcTimestamp(at)) - Date.now()
  if (ahead >= 0 && ahead <= daysAheadMax * 86_400_000) return
  const message = ahead < 0 ? 'has passed' : `must be at most ${daysAheadMax} days ahead`
  throw invalidRequest([{ pointer: '/at', field: 'at', code: 'range', message }])
}

/** Whether a job applies the plan, as one would have done for the planned call. */
function isLarge({ operation, summary, call }: StoredPlan): boolean {
  const { changed = 0, added = 0, removed = 0 } = summary as Schemas['PlanSummary']
  const { products = changed + added + removed } = call as unknown as RevertCall
  const moved = operation === 'revert' ? products : added + removed
  return changed > cellsAtOnceMax || moved > backgroundThreshold
}

const appliers = {
  update_prices: applyPrices,
  reprice: applyPrices,
  add_products: applyAddedProducts,
  remove_products: applyRemovedProducts,
  sync: applySync,
  revert: applyRevert,
}

/** What applying a plan returns, and what a job stores as its result. */
interface ApplicationResult {
  answer: Answer<
    number[] | Schemas['SyncResult'] | Schemas['RevertResult'] | Schemas['CreatedUpdated']
  >
  jobResult: object
  /** The list's; absent for promotions. */
  revision?: number
}

/** Applies a locked plan. Throws `plan-stale`, `guardrail-violated`, `price-list-not-managed`. */
export async function apply(trx: Trx, plan: StoredPlan, call: Call): Promise<ApplicationResult> {
  if (plan.operation !== 'promotions') return applyToList(trx, plan, call)
  const { skipped, ...done } = await applyPromotions(trx, plan, new Set(call.skip))
  await noteApplied(trx, plan, { revision: null, skipped })
  const headers = { 'skipped-rows': String(skipped) }
  return { answer: new Answer(done, headers), jobResult: { ...done, skipped } }
}

async function applyToList(
  trx: Trx,
  plan: StoredPlan,
  { skip = [], origin, job }: Call,
): Promise<ApplicationResult> {
  const list = await lockPriceList(trx, plan.account_id, { id: plan.price_list_id ?? 0 })
  rejectUnmanaged(list)
  // Rows left out are looked up in a hash; without memory for it, each row would be compared with all.
  await useLargeMemory(trx)
  const isOverridden = origin.override !== undefined
  const kind = plan.operation as keyof typeof appliers
  const application: Application = { trx, list, plan, skip: new Set(skip), isOverridden }
  const applied = await appliers[kind](application)
  const { priced, added, removed, skipped, reverts, result } = applied
  const { note } = plan.origin as unknown as Origin
  const { observed_at } = plan.call as { observed_at?: string }
  // As the planned call, a plan of no products publishes nothing.
  const isEmpty = Array.isArray(result) && result.length === 0
  const revision = isEmpty
    ? list.version
    : await recordRevision(trx, list, {
        ...{ kind, job, plan: plan.id, priced, added, removed, observed_at },
        origin: { ...(note !== undefined && { note }), ...origin },
        ...(reverts && { reverts }),
      })
  await noteApplied(trx, plan, { revision: revision === list.version ? null : revision, skipped })
  const done = result ?? { revision, priced, added, removed, skipped }
  const headers = { ...revisionHeader(revision), 'skipped-rows': String(skipped) }
  const jobResult = applied.jobResult ?? { ...done, skipped }
  return { answer: new Answer(done, headers), jobResult, revision }
}

/** `revision` is null if the plan changed no list. */
async function noteApplied(
  trx: Trx,
  plan: StoredPlan,
  { revision, skipped }: { revision: number | null; skipped: number },
): Promise<void> {
  const { skipped: before = 0 } = plan.call as { skipped?: number }
  await trx
    .updateTable('plans')
    .set({
      status: 'applied',
      ended_at: sql`statement_timestamp()`,
      // Null for a plan that is open again: it keeps no moment of a job that has ended without applying it.
      apply_at: plan.apply_at,
      revision,
      call: sql`call || ${JSON.stringify({ skipped: before + skipped })}::jsonb`,
    })
    .where('account_id', '=', plan.account_id)
    .where('id', '=', plan.id)
    .execute()
}
