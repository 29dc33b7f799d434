import { type RawBuilder, sql } from 'kysely'
import { type KeyedRow, rowKey } from '../../catalog/row-key.ts'
import { type RowErrors, sentences } from '../../contract/row-errors.ts'
import { readNullable, readNumbers } from '../../database/array-literal.ts'
import { columnsOf, type InputColumn, inputRows } from '../../database/input-rows.ts'
import type { Trx } from '../../database/pool.ts'
import { guardsMargins, isViolating } from '../../price-lists/guardrails.ts'
import { insertChanges } from '../../price-lists/history/log-changes.ts'
import { nextRevision } from '../../price-lists/history/record-revision.ts'
import { isPublished, isPublishedNow } from '../../price-lists/list-rows.ts'
import type { PriceList } from '../../price-lists/queries.ts'
import { keyColumns, positionedKeyColumns } from '../payload.ts'
import { type Cell, type CellsByRow, givenPrice, rowsOf } from './cells.ts'

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
  const { rows } = await sql<{ ids: string | null }>`
    select array_agg(r.id order by position)::text as ids
    from ${input}
    join price_lists l on l.account_id = ${list.account_id} and l.id = ${list.id}
    left join price_list_rows r on r.account_id = ${list.account_id}
      and r.price_list_id = ${list.id} and r.code = input.code
      and r.extension_key = input.extension_key and ${isPublished}`.execute(trx)
  return readNullable(rows[0]?.ids ?? null)
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

export interface SetPrices {
  ids: RowIds
  written: Written
}

/**
 * Sets prices of published rows, and logs the former ones in the history. Dimensions without a new price keep theirs;
 * unchanged rows are not written; unknown rows are skipped.
 */
export async function setPrices(trx: Trx, list: PriceList, byRow: CellsByRow): Promise<SetPrices> {
  const count = byRow.starts.length - 1
  const rows = Array.from({ length: count }, (_, row) => row)
  const input = await inputRows(trx, rowColumns(list, byRow), rows)
  const merged = list.price_dimensions.map((_, index) => {
    const given = sql.ref(`input.${priceName(index)}`)
    return sql`coalesce(${given}, r.prices[${sql.lit(index + 1)}])`
  })
  const answer = await sql<Record<'ids' | 'positions', string | null> & WrittenRow>`
    with found as materialized (
      select r.id, input.position, r.since, r.prices as old, array[${sql.join(merged)}] as new
      from ${input} join price_list_rows r on r.account_id = ${list.account_id} and r.price_list_id = ${list.id}
        and r.code = input.code and r.extension_key = input.extension_key and ${isPublishedNow(list)}
    ), ${writeChanged(list)}
    select array_agg(id)::text as ids, array_agg(position)::text as positions, ${writtenOf(list)}
    from found`.execute(trx)
  const [written] = answer.rows
  const found = readNumbers(written?.ids ?? null)
  const ids: RowIds = new Array(count).fill(null)
  for (const [index, row] of readNumbers(written?.positions ?? null).entries())
    ids[row] = found[index] as number
  return { ids, written: readWritten(list, written) }
}

/** SQL of the CTEs that write the rows of `found` (id, since, old, new) whose prices differ, and log their changes. */
export function writeChanged(list: PriceList): RawBuilder<unknown> {
  const revision = nextRevision(list)
  const rows = sql`(select id, since, old, new from found where new is distinct from old) as changed`
  return sql`
    updated as (
      update price_list_rows u set prices = found.new, since = ${revision}
      from found
      where u.account_id = ${list.account_id} and u.price_list_id = ${list.id} and u.id = found.id
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
export function readWritten(list: PriceList, row: WrittenRow | undefined): Written {
  const { priced = 0, changed = 0, is_violating = false } = row ?? {}
  const mayViolate = is_violating || guardsMargins(list)
  return { priced: Number(priced), changed: Number(changed), mayViolate }
}

/** Columns of a row, by its index: its key, and its price in each dimension, null if not given. */
function rowColumns(list: PriceList, byRow: CellsByRow): InputColumn<number>[] {
  const rows = rowsOf(byRow)
  return [
    { name: 'position', type: 'integer', value: (row) => row },
    ...columnsOf(keyColumns, (row: number) => rows[row] as Cell),
    ...list.price_dimensions.map((dimension, index) => ({
      name: priceName(index),
      type: 'numeric',
      value: (row: number) => givenPrice(byRow, row, dimension),
    })),
  ]
}

const priceName = (index: number) => `price_${index}`

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
