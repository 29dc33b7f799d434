import { type RawBuilder, sql } from 'kysely'
import type { Origin } from '../contract/operation.ts'
import { analyzeLoaded } from '../database/planner.ts'
import type { Trx } from '../database/pool.ts'
import { daysInMonth } from './calendar.ts'
import { guardrailViolated, listErrors } from './guardrails.ts'
import { insertChanges, insertMonthChanges } from './history/log-changes.ts'
import { type Change, nextRevision, recordRevision } from './history/record-revision.ts'
import { type IdsText, ofList } from './publication.ts'
import type { PriceList } from './queries.ts'

/** What makes a publication. */
export type Publication = Pick<Change, 'kind' | 'origin' | 'job'>

/**
 * So many new rows are made known to the planner before they can be read. It would take the list for empty and pass
 * through it for each row of a statement; smaller lists are made known later, by `tidyList`.
 */
const knownAtOnceMin = 10_000

/**
 * Publishes the draft of a locked list, and notes the rows that come and go in its history. One row of the list changes,
 * so readers see all of it at once. `ids` are the rows that may come, as far as they are known; else all rows are looked
 * at. Returns the revision.
 */
export async function publish(
  trx: Trx,
  list: PriceList,
  publication: Publication,
  ids?: IdsText,
): Promise<number> {
  const moved = await logMoves(trx, list, ids)
  rejectRemovals(list, moved.removed, publication.origin)
  if (moved.added > knownAtOnceMin) {
    const load = { column: 'price_list_id', value: list.id, rows: moved.added } as const
    await analyzeLoaded(trx, { table: 'price_list_rows', ...load })
  }
  return recordRevision(trx, list, { ...publication, priced: 0, ...moved })
}

/** Throws `guardrail-violated` if too many rows leave. */
function rejectRemovals(list: PriceList, removed: number, { override }: Origin): void {
  const errors = removed > 0 ? listErrors(list, { changed: 0, removed }) : []
  if (errors.length > 0 && override === undefined) throw guardrailViolated(errors, errors.length)
}

/** Notes the rows that come and go with the next revision of a list in its history; returns their numbers. */
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
  return { added, removed }
}

const noPrices = (count: number) => sql`array_fill(null::numeric, array[${count}::integer])`

/** Notes rows in the history of a list; returns their number. */
async function logRows(
  trx: Trx,
  list: PriceList,
  { change, rows }: { change: 'added' | 'removed'; rows: RawBuilder<unknown> },
): Promise<number> {
  const { rows: counts } = await sql<{ count: number }>`
    with found as materialized (select * from ${rows}),
    logged as (${insertChanges(list, { revision: nextRevision(list), change, rows: sql`found` })})
    select count(*) as count from found`.execute(trx)
  return Number(counts[0]?.count ?? 0)
}

/** Notes the months of rows that leave a calendar list. */
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
