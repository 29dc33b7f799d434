import { type RawBuilder, sql } from 'kysely'
import { type KeyedRow, rowKey } from '../../catalog/row-key.ts'
import { type RowErrors, sentences } from '../../contract/row-errors.ts'
import { readNumbers } from '../../database/array-literal.ts'
import { inputRows } from '../../database/input-rows.ts'
import { onlyRow } from '../../database/only-row.ts'
import type { Trx } from '../../database/pool.ts'
import { guardsMargins, isViolating } from '../../price-lists/guardrails.ts'
import { insertChanges } from '../../price-lists/history/log-changes.ts'
import { nextRevision } from '../../price-lists/history/record-revision.ts'
import { isPublished } from '../../price-lists/list-rows.ts'
import { ofList, type PriceList } from '../../price-lists/queries.ts'
import { positionedKeyColumns } from '../payload.ts'

/** Row ids in the order of their keys; null for a row that is not in the published list. */
export type RowIds = (number | null)[]

/** Finds the published rows with these keys, in their order. */
export async function findPublishedRows(
  trx: Trx,
  list: PriceList,
  keys: { code: string; extensions: string[] }[],
): Promise<RowIds> {
  if (keys.length === 0) return []
  const positioned = keys.map(({ code, extensions }, position) => ({ code, extensions, position }))
  const input = await inputRows(trx, positionedKeyColumns, positioned)
  // Citus on PostgreSQL 15 and 16 refuses an outer join of staged rows.
  const { found, positions } = await onlyRow<Record<'found' | 'positions', string | null>>(trx)`
    select array_agg(r.id)::text as found, array_agg(position)::text as positions
    from ${input}
    join price_lists l on l.account_id = ${list.account_id} and l.id = ${list.id}
    join price_list_rows r on r.account_id = ${list.account_id}
      and r.price_list_id = ${list.id} and r.code = input.code
      and r.extension_key = input.extension_key and ${isPublished}`
  const places = readNumbers(positions)
  const ids: RowIds = new Array(keys.length).fill(null)
  for (const [index, id] of readNumbers(found).entries()) ids[places[index] as number] = id
  return ids
}

/** What a price write changed. */
export interface Written {
  /** Cells whose price changed. */
  priced: number
  /** Rows of these cells. */
  changed: number
  /** False if no price violates a guardrail of the list. */
  mayViolate: boolean
}

/** SQL of the CTEs that write the rows of `found` (id, since, old, new) whose prices differ, and log their changes. */
export function writeChanged(list: PriceList): RawBuilder<unknown> {
  const revision = nextRevision(list)
  const rows = sql`(select id, since, old, new from found where new is distinct from old) as changed`
  return sql`
    updated as (
      update price_list_rows u set prices = found.new, since = ${revision}
      from found
      where ${ofList(list, 'u')} and u.id = found.id
        and found.new is distinct from found.old
    ), logged as (${insertChanges(list, { revision, change: 'priced', rows })})`
}

/** What `writtenOf` selects. */
export interface WrittenRow {
  priced: number
  changed: number
  is_violating: boolean
}

/** SQL of the columns of a WrittenRow, over `found`: what `writeChanged` writes. */
export function writtenOf(list: PriceList): RawBuilder<unknown> {
  const cells = list.price_dimensions.map((_, index) => {
    const [before, now] = [sql`old[${sql.lit(index + 1)}]`, sql`new[${sql.lit(index + 1)}]`]
    const isChanged = sql`${now} is distinct from ${before}`
    // Margins are checked separately: they need the products' costs.
    const violates = isViolating(list, { old: before, new: now })
    return { count: sql`(${isChanged})::integer`, violates: sql`(${isChanged} and ${violates})` }
  })
  const counts = sql.join(
    cells.map(({ count }) => count),
    sql` + `,
  )
  const violates = sql.join(
    cells.map((cell) => cell.violates),
    sql` or `,
  )
  return sql`coalesce(sum(${counts}), 0) as priced, count(*) filter (where new is distinct from old) as changed,
    coalesce(bool_or(${violates}), false) as is_violating`
}

/** Reads the columns of `writtenOf`. */
export function readWritten(list: PriceList, row: WrittenRow): Written {
  const mayViolate = row.is_violating || guardsMargins(list)
  return { priced: row.priced, changed: row.changed, mayViolate }
}

/** Reports payload rows that are not in the published list. `ids` belong to `rows`, which has each row once. */
export function rejectMissing(
  payload: readonly KeyedRow<unknown>[],
  rows: readonly Pick<KeyedRow<unknown>, 'code' | 'extensions'>[],
  ids: RowIds,
  errors: RowErrors,
): void {
  if (!ids.includes(null)) return
  const missing = new Set(rows.flatMap((row, index) => (ids[index] === null ? rowKey(row) : [])))
  for (const row of payload) {
    if (missing.has(rowKey(row)))
      errors.add(row.position, 'code', 'row_not_in_list', sentences.rowNotInList)
  }
}
