import { type RawBuilder, sql } from 'kysely'
import type { Origin } from '../contract/operation.ts'
import { onlyRow } from '../database/only-row.ts'
import { analyzeLoaded } from '../database/planner.ts'
import type { Trx } from '../database/pool.ts'
import { daysInMonth } from './calendar.ts'
import { guardrailViolated, listErrors } from './guardrails.ts'
import { insertChanges, insertMonthChanges } from './history/log-changes.ts'
import { type Change, nextRevision, recordRevision } from './history/record-revision.ts'
import type { IdsText } from './publication.ts'
import { noPrices, ofList, type PriceList } from './queries.ts'

export type Publication = Pick<Change, 'kind' | 'origin' | 'job'>

/**
 * With more new rows, the planner's statistics are updated before the rows can be read. Otherwise the planner would take
 * the list for empty and scan it for each row of a statement. For smaller lists, `tidyList` updates them later.
 */
const knownAtOnceMin = 10_000

/**
 * Publishes the draft of a locked list, and records added and removed rows in its history. Only the list's own row
 * changes, so readers see the whole draft at the same moment. `ids` are the rows that may have been added; without
 * them, all rows are checked. Returns the revision. Throws `guardrail-violated`.
 */
export async function publish(
  trx: Trx,
  list: PriceList,
  publication: Publication,
  ids?: IdsText,
): Promise<number> {
  const moved = await logMoves(trx, list, ids)
  rejectRemovals(list, moved.removed, publication.origin)
  return recordRevision(trx, list, { ...publication, priced: 0, ...moved })
}

/** Throws `guardrail-violated` if too many rows are removed. */
function rejectRemovals(list: PriceList, removed: number, { override }: Origin): void {
  const errors = removed > 0 ? listErrors(list, { changed: 0, removed }) : []
  if (errors.length > 0 && override === undefined) throw guardrailViolated(errors, errors.length)
}

/**
 * Records the rows that the list's next revision adds and removes in its history, and has the planner know many added
 * ones. Returns their numbers.
 */
export async function logMoves(
  trx: Trx,
  list: PriceList,
  ids?: IdsText,
): Promise<{ added: number; removed: number }> {
  const revision = nextRevision(list)
  const among = ids === undefined ? sql`` : sql` and id = any(${ids}::bigint[])`
  const none = noPrices(list.price_dimensions.length)
  const added = await logRows(trx, list, {
    change: 'added',
    rows: sql`(
      select id, 0 as since, ${none} as old, prices as new from price_list_rows
      where ${ofList(list)} and added_version = ${revision} and removed_version is null${among}
    ) as come`,
  })
  const isGone = sql`removed_version = ${revision} and added_version < ${revision}`
  const removed = await logRows(trx, list, {
    change: 'removed',
    rows: sql`(
      select id, since, prices as old, ${none} as new from price_list_rows
      where ${ofList(list)} and ${isGone}
    ) as gone`,
  })
  if (list.is_calendar && removed > 0) await logMonths(trx, list, isGone)
  if (added > knownAtOnceMin)
    await analyzeLoaded(trx, { table: 'price_list_rows', owner: list.id, rows: added })
  return { added, removed }
}

/** Records rows in a list's history. Returns their number. */
async function logRows(
  trx: Trx,
  list: PriceList,
  { change, rows }: { change: 'added' | 'removed'; rows: RawBuilder<unknown> },
): Promise<number> {
  const { count } = await onlyRow<{ count: number }>(trx)`
    with found as materialized (select * from ${rows}),
    logged as (${insertChanges(list, { revision: nextRevision(list), change, rows: sql`found` })})
    select count(*) as count from found`
  return count
}

/** Records the months of rows removed from a calendar list. */
async function logMonths(trx: Trx, list: PriceList, isGone: RawBuilder<unknown>): Promise<void> {
  const rows = sql`(
    select row_id, dimension, month, since, prices as old, ${noPrices(daysInMonth)} as new
    from calendar_months where ${ofList(list)} and row_id = any(array(
      select id from price_list_rows where ${ofList(list)} and ${isGone}
    ))
  ) as gone`
  await sql`${insertMonthChanges(list, { revision: nextRevision(list), change: 'removed', rows })}`.execute(
    trx,
  )
}
