import { sql } from 'kysely'
import type { PgBoss } from 'pg-boss'
import { findColumns } from '../../catalog/columns.ts'
import {
  Answer,
  backgroundThreshold,
  cellsAtOnceMax,
  type Handler,
  type OperationRequest,
  type Origin,
  type Schemas,
} from '../../contract/operation.ts'
import { invalidRequest } from '../../contract/row-errors.ts'
import { onlyRow } from '../../database/only-row.ts'
import type { Trx } from '../../database/pool.ts'
import { enqueueJob } from '../../jobs/enqueue.ts'
import { rejectBusy, whenListIsFree } from '../../jobs/list-order.ts'
import { inOneTransaction, refusable } from '../../jobs/run-job.ts'
import { horizonDays } from '../../price-lists/calendar.ts'
import type { Revisions } from '../../price-lists/history/changed-cells.ts'
import { historyNotKept } from '../../price-lists/history/moments.ts'
import { recordRevision, revisionHeader } from '../../price-lists/history/record-revision.ts'
import { archiveAllRemovedRows } from '../../price-lists/publication.ts'
import {
  lockListOf,
  lockPriceList,
  ofList,
  type PriceList,
  rejectUnmanaged,
  rejectUnpublished,
} from '../../price-lists/queries.ts'
import { enqueuePlan } from '../plans/enqueue-plan.ts'
import { planRevert } from '../plans/plan-moves.ts'
import { findUndone, revertConflict, type UndoCounts } from './find-undone.ts'
import { undo } from './undo.ts'

type Input = Schemas['RevertInput']

/**
 * Undoes one revision of a list, or all after one. Returns what it did; above 100 products or 100,000 cells, the job.
 */
export const revertPriceList: Handler<'revertPriceList'> = (request, { boss }) =>
  whenListIsFree(() => request.inAccount((trx) => revertOrEnqueue(trx, boss, request)))

type Request = OperationRequest<'revertPriceList'>

async function revertOrEnqueue(
  trx: Trx,
  boss: PgBoss,
  { account, params, body, query, origin, prefersJob }: Request,
): Promise<Answer<Schemas['RevertResult'] | Schemas['JobInfo'] | Schemas['Plan']>> {
  const list = await lockPriceList(trx, account, { id: params.id })
  rejectUnmanaged(list)
  const revisions = readRevisions(list, body)
  const changes = await countChanges(trx, list, revisions)
  const call = { operation: 'revert', ...body } as const
  const job = { origin, total: changes.cells, call }
  const isLarge = changes.cells > cellsAtOnceMax
  if (query.plan === 'true') {
    if (isLarge || prefersJob) return enqueuePlan(trx, boss, list, { ...job, prefersJob })
    await rejectBusy(trx, account, list.id)
    return planOfRevert(trx, list, body, origin)
  }
  const enqueue = () =>
    enqueueJob(trx, boss, { account, priceListId: list.id, kind: 'revert', ...job })
  if (isLarge || hasManyProducts(list, revisions, changes)) return enqueue()
  await rejectBusy(trx, account, list.id)
  const { products, conflicts } = await prepare(trx, list, revisions, body)
  if (products > backgroundThreshold) return enqueue()
  const result = await revert(trx, list, revisions, { ...body, conflicts, origin })
  return new Answer(result, revisionHeader(result.revision))
}

/** Whether only the newest revision is undone, and it changed many products: none of them can conflict. */
function hasManyProducts(
  list: PriceList,
  { after, until }: Revisions,
  { cells, removed }: { cells: number; removed: number },
): boolean {
  const { price_dimensions, is_calendar } = list
  const cellsOfRow = price_dimensions.length * (is_calendar ? horizonDays : 1)
  const isNewest = until === list.version && after === until - 1
  return isNewest && removed === 0 && cells > backgroundThreshold * cellsOfRow
}

/** Plans the revert of a locked list. Throws as `readRevisions` and `prepare` do. */
export async function planOfRevert(
  trx: Trx,
  list: PriceList,
  body: Input,
  origin: Origin,
): Promise<Answer<Schemas['Plan']>> {
  const revisions = readRevisions(list, body)
  const undone = await prepare(trx, list, revisions, body)
  return planRevert(trx, list, { ...revisions, isVoid: body.void === true, ...undone }, origin)
}

/**
 * Checks which revisions to undo. Throws `invalid-request`, also for one that does not exist, and `history-not-kept`.
 */
function readRevisions(list: PriceList, { revision, to_revision }: Input): Revisions {
  rejectUnpublished(list)
  const field = revision === undefined ? 'to_revision' : 'revision'
  const given = revision ?? to_revision
  const reject = (code: 'required' | 'conflicting_keys' | 'range', message: string) =>
    invalidRequest([{ pointer: `/${field}`, field, code, message }])
  if (given === undefined) throw reject('required', 'revision or to_revision is required')
  if (revision !== undefined && to_revision !== undefined)
    throw reject('conflicting_keys', 'only one of revision and to_revision')
  if (given > list.version || revision === 0)
    throw reject('range', `must be one of the revisions up to ${list.version}`)
  const revisions =
    revision === undefined
      ? { after: given, until: list.version }
      : { after: given - 1, until: given }
  if (revisions.after < list.oldest_revision) throw historyNotKept(list)
  return revisions
}

/** Upper bounds of the cells and rows that are undone, and of the rows that return. */
async function countChanges(
  trx: Trx,
  list: PriceList,
  { after, until }: Revisions,
): Promise<{ cells: number; removed: number }> {
  return onlyRow<{ cells: number; removed: number }>(trx)`
    select coalesce(sum(priced + added + removed), 0) as cells, coalesce(sum(removed), 0) as removed from list_revisions
    where ${ofList(list)} and revision > ${after} and revision <= ${until}`
}

/** Finds and counts what to undo. Throws `revert-conflict` unless conflicts are skipped. */
async function prepare(
  trx: Trx,
  list: PriceList,
  revisions: Revisions,
  { on_conflict }: Input,
): Promise<UndoCounts> {
  await archiveAllRemovedRows(trx, list, list.version)
  const undone = await findUndone(trx, list, revisions)
  if (undone.conflicts > 0 && on_conflict !== 'skip')
    throw await revertConflict(trx, list, await findColumns(trx, list.account_id), undone.conflicts)
  return undone
}

/** Undoes what `prepare` found. */
async function revert(
  trx: Trx,
  list: PriceList,
  revisions: Revisions,
  {
    void: isVoid,
    conflicts,
    origin,
    job,
  }: Input & { conflicts: number; origin: Origin; job?: number },
): Promise<Schemas['RevertResult']> {
  const moved = await undo(trx, list, revisions)
  const reverts = { from: revisions.after + 1, to: revisions.until }
  const revision = await recordRevision(trx, list, {
    kind: 'revert',
    origin,
    job,
    reverts,
    ...moved,
  })
  if (isVoid && revision > list.version) await voidRevisions(trx, list, revisions)
  return { revision, ...moved, skipped: conflicts }
}

export async function voidRevisions(
  trx: Trx,
  list: PriceList,
  { after, until }: Revisions,
): Promise<void> {
  await sql`
    update list_revisions set voided = true
    where ${ofList(list)} and revision > ${after} and revision <= ${until}`.execute(trx)
}

/** Reverts a list in one transaction, as `revertPriceList` does for fewer changes. */
export const runRevert = refusable((attempt, job) =>
  inOneTransaction(attempt, async (trx) => {
    const call = job.query as unknown as Schemas['RevertInput']
    const list = await lockListOf(trx, job)
    const revisions = readRevisions(list, call)
    const { conflicts } = await prepare(trx, list, revisions, call)
    const { origin, id } = job
    const result = await revert(trx, list, revisions, { ...call, conflicts, origin, job: id })
    return { result, revision: result.revision }
  }),
)
