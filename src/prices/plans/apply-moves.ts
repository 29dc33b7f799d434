import { type RawBuilder, sql } from 'kysely'
import { findColumns } from '../../catalog/columns.ts'
import { readNumbers } from '../../database/array-literal.ts'
import { onlyRow } from '../../database/only-row.ts'
import type { Trx } from '../../database/pool.ts'
import { syncResult } from '../../price-lists/catalog-difference.ts'
import { addDraftRows } from '../../price-lists/draft-rows.ts'
import { archiveAllRemovedRows, removeDraftRows } from '../../price-lists/publication.ts'
import { logMoves } from '../../price-lists/publish.ts'
import { ofList } from '../../price-lists/queries.ts'
import { productFaults } from '../add-products.ts'
import { findUndone } from '../revert/find-undone.ts'
import { voidRevisions } from '../revert/revert-price-list.ts'
import { undo } from '../revert/undo.ts'
import {
  type Application,
  type Applied,
  isIncluded,
  leaveStaleOut,
  leaveViolatingOut,
  ofPlan,
} from './application.ts'
import type { RevertCall } from './plan-moves.ts'

/** Adds a plan's rows. Returns their ids, and those of rows already in the list, in the order of the planned call. */
export async function applyAddedProducts(application: Application): Promise<Applied> {
  const { trx, list } = application
  const skipped = await leaveStaleOut(application, await staleMoves(application))
  const ids = await addDraftRows(trx, list, await findIds(application, 'product_id', sql`true`))
  const moved = await logMoves(trx, list, ids)
  const result = readNumbers(ids)
  const counts = { created: moved.added, updated: result.length - moved.added, skipped }
  return { priced: 0, ...moved, skipped, result, jobResult: { rows: result.length, ...counts } }
}

/** Removes a plan's rows. Returns their ids in the order of the planned call. */
export async function applyRemovedProducts(application: Application): Promise<Applied> {
  const { trx, list } = application
  const skipped =
    (await leaveStaleOut(application, await staleMoves(application))) +
    (await leaveViolatingOut(application))
  const ids = await findIds(application, 'row_id', sql`plan.action = 'remove'`)
  await removeDraftRows(trx, list, ids)
  const moved = await logMoves(trx, list, '{}')
  const result = readNumbers(ids)
  const counts = { created: 0, updated: 0, removed: moved.removed, skipped }
  return { priced: 0, ...moved, skipped, result, jobResult: { rows: result.length, ...counts } }
}

/** Adds and removes a plan's rows, as a sync does. */
export async function applySync(application: Application): Promise<Applied> {
  const { trx, list } = application
  const skipped =
    (await leaveStaleOut(application, await staleMoves(application))) +
    (await leaveViolatingOut(application))
  const added = await addDraftRows(
    trx,
    list,
    await findIds(application, 'product_id', sql`plan.action = 'add'`),
  )
  await removeDraftRows(
    trx,
    list,
    await findIds(application, 'row_id', sql`plan.action = 'remove'`),
  )
  const { result } = await onlyRow<{ result: NonNullable<Applied['result']> }>(trx)`
    select ${syncResult(list)} as result`
  const moved = await logMoves(trx, list, added)
  return { priced: 0, ...moved, skipped, result }
}

/** The ids in the plan rows that are not left out, as the text of an array. */
async function findIds(
  { trx, plan }: Application,
  column: 'row_id' | 'product_id',
  which: RawBuilder<unknown>,
): Promise<string> {
  const { ids } = await onlyRow<{ ids: string }>(trx)`
    select coalesce(array_agg(plan.${sql.ref(column)} order by plan.position, plan.place), '{}')::text as ids
    from plan_rows plan where ${ofPlan(plan)} and ${which} and ${isIncluded}`
  return ids
}

/**
 * SQL of the places of rows that were added, removed or changed since the plan was made, or that the catalog now treats
 * differently.
 */
async function staleMoves({ trx, list, plan }: Application): Promise<RawBuilder<unknown>> {
  await archiveAllRemovedRows(trx, list, list.version)
  const columns = await findColumns(trx, list.account_id)
  const base = plan.base_revision ?? 0
  const isChangedMonth = list.is_calendar
    ? sql`or exists (select from calendar_months where ${ofList(list)} and row_id = r.id and since > ${base})`
    : sql``
  // Removing products by name does not depend on the catalog.
  const isWanted = plan.operation === 'sync' ? sql`or p.id is not null and p.fault is null` : sql``
  const hasLeft = sql`exists (
    select from removed_rows gone where ${ofList(list, 'gone')}
      and gone.code = plan.code and gone.extension_key = plan.extension_key and gone.removed_version > ${base}
  )`
  return sql`
    select plan.place from plan_rows plan
    left join price_list_rows r on ${ofList(list, 'r')}
      and r.code = plan.code and r.extension_key = plan.extension_key and r.removed_version is null
    left join ${productFaults(list, columns)} on p.id = plan.product_id
    where ${ofPlan(plan)} and case plan.action
      when 'add' then r.id is not null or p.id is null or p.fault is not null or ${hasLeft}
      when 'remove' then r.id is distinct from plan.row_id or r.since > ${base} ${isChangedMonth} ${isWanted}
      else r.id is distinct from plan.row_id end`
}

/** Undoes what a revert plan shows. */
export async function applyRevert(application: Application): Promise<Applied> {
  const { trx, list, plan } = application
  const { isVoid, conflicts = 0, after, until } = plan.call as unknown as RevertCall
  const revisions = { after, until }
  await archiveAllRemovedRows(trx, list, list.version)
  await findUndone(trx, list, revisions)
  const skipped = await leaveStaleOut(application, staleUndone(application))
  await keepPlanned(trx, await findIds(application, 'row_id', sql`plan.dimension is null`))
  const moved = await undo(trx, list, revisions)
  if (isVoid && moved.priced + moved.added + moved.removed > 0)
    await voidRevisions(trx, list, revisions)
  const reverts = { from: revisions.after + 1, to: revisions.until }
  return { ...moved, skipped: skipped + conflicts, reverts }
}

/** SQL of the places of changes that can no longer be undone. */
const staleUndone = ({ list, plan }: Application) => sql`
  select plan.place from plan_rows plan
  left join (select row_id, dimension, date from pg_temp.undone_cells where conflict is null) as cell
    on cell.row_id = plan.row_id and cell.dimension = plan.dimension ${list.is_calendar ? sql`and cell.date = plan.date` : sql``}
  left join (select row_id from pg_temp.undone_rows where conflict is null) as row on row.row_id = plan.row_id
  where ${ofPlan(plan)} and case when plan.dimension is null then row.row_id is null else cell.row_id is null end`

/** Leaves out rows that can be undone now, but could not when the plan was made. */
async function keepPlanned(trx: Trx, ids: string): Promise<void> {
  await sql`delete from pg_temp.undone_rows where row_id <> all(${ids}::bigint[])`.execute(trx)
}
