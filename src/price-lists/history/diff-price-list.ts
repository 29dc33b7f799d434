import { type RawBuilder, sql } from 'kysely'
import { columnEntries } from '../../catalog/column-value.ts'
import { type Columns, findColumns, keyOrder } from '../../catalog/columns.ts'
import type { Export } from '../../contract/export.ts'
import {
  Answer,
  type Handler,
  type OperationRequest,
  type Schemas,
} from '../../contract/operation.ts'
import { Problem } from '../../contract/problem.ts'
import { readPage } from '../../contract/read-page.ts'
import { invalidRequest } from '../../contract/row-errors.ts'
import type { Trx } from '../../database/pool.ts'
import { mapCooperatively } from '../../lib/cooperative.ts'
import { isMemberAt } from '../list-rows.ts'
import { findPriceList, type PriceList, rejectUnpublished } from '../queries.ts'
import { changedCells, joinKeys, keyedCells, type Revisions } from './changed-cells.ts'
import { findMoment } from './moments.ts'
import { revisionHeader } from './record-revision.ts'

/** One page of the cells that differ between two moments of a list, by code and extensions. Throws `too-costly`. */
export const diffPriceList: Handler<'diffPriceList'> = ({ account, params, query, inAccount }) =>
  inAccount(async (trx) => {
    const { list, columns, revisions } = await openDiff(trx, { account, params, query })
    await rejectCostly(trx, list, revisions)
    const all = await selectDiff(trx, list, columns, revisions)
    const { count, rows } = await readPage<DiffCell>(trx, { all, query })
    const results = await mapCooperatively(rows, shownCell(list, columns))
    return new Answer({ count, results }, revisionHeader(revisions.until))
  })

/** Exports all cells that differ, in the order of `diffPriceList`. */
export const exportDiff: Export<'diffPriceList'> = async (trx, request) => {
  const { list, columns, revisions } = await openDiff(trx, request)
  const show = shownCell(list, columns)
  return {
    headers: revisionHeader(revisions.until),
    columns: [
      ...['pk', 'extended_catalog_id', 'code'],
      ...columns.extensions.map(({ name }) => name).filter(isBeside(list)),
      ...['price_dimension', ...(list.is_calendar ? ['date'] : [])],
      ...['change', 'old', 'new', 'change_percent'],
      ...(list.hide_unpriced ? ['priced'] : []),
    ],
    query: sql`${await selectDiff(trx, list, columns, revisions)} order by id`,
    rowsOf: (cell: DiffCell) => [show(cell)],
  }
}

async function openDiff(
  trx: Trx,
  {
    account,
    params,
    query,
  }: Pick<OperationRequest<'diffPriceList'>, 'account' | 'params' | 'query'>,
) {
  const list = await findPriceList(trx, account, { id: params.id })
  rejectUnpublished(list)
  const columns = await findColumns(trx, account)
  const isBeginning = query.from === '0' && list.oldest_revision === 0
  const from = isBeginning
    ? 0
    : (await findMoment(trx, list, query.from, { pointer: '/query/from' })).revision
  const to = await findMoment(trx, list, query.to ?? list.version, { pointer: '/query/to' })
  if (from > to.revision) {
    const message = 'must not be after to'
    throw invalidRequest([{ pointer: '/query/from', code: 'range', message }])
  }
  return { list, columns, revisions: { after: from, until: to.revision } }
}

/** More changes would take longer than a read may. */
const changesMax = 1_500_000

/** Throws `too-costly` if too many cells have changed: each page compares all of them. */
async function rejectCostly(trx: Trx, list: PriceList, { after, until }: Revisions): Promise<void> {
  const { rows } = await sql<{ changes: number }>`
    select coalesce(sum(priced + (added + removed) * ${list.price_dimensions.length}::bigint), 0) as changes
    from list_revisions
    where account_id = ${list.account_id} and price_list_id = ${list.id}
      and revision > ${after} and revision <= ${until}`.execute(trx)
  const changes = Number(rows[0]?.changes ?? 0)
  if (changes <= changesMax) return
  throw new Problem(
    'too-costly',
    `A page of a diff looks at no more than ${changesMax} changes, this one would look at ${changes}. Take fewer revisions, or all as a file (\`Accept: text/csv\`).`,
  )
}

/** A cell as a query returns it. */
export interface DiffCell {
  /** Its place among all cells, from 1. */
  id: number
  pk: number
  product_id: number
  code: string
  extensions: string[]
  dimension: number
  date: string | null
  change: Schemas['CellChange']['change']
  old: number | null
  new: number | null
  change_percent: number | null
  /** Whether a price is set after the change. */
  priced: boolean
}

/** SQL of the cells that differ, as DiffCell. */
async function selectDiff(
  trx: Trx,
  list: PriceList,
  columns: Columns,
  revisions: Revisions,
): Promise<RawBuilder<DiffCell>> {
  const cells = await differentCells(trx, list, revisions)
  return sql`
    select row_number() over (order by ${keyOrder(columns)}, dimension, date) as id, pk, product_id, code, extensions,
      dimension, date, change, old, new, ${changePercent(sql`old`, sql`new`)} as change_percent, priced
    from (
      select pk, product_id, code, extensions, dimension, date,
        case when was and is_now then 'priced' when is_now then 'added' else 'removed' end as change,
        case when was then coalesce(old, 0) end as old, case when is_now then coalesce(new, 0) end as new,
        is_now and new is not null as priced
      from ${cells}
    ) as cell`
}

/**
 * SQL of a FROM item `cell` with the cells that differ: pk and product of the newer row, key, dimension, date, old and
 * new price (null where none was set), and whether the row was in the list before (`was`) and after (`is_now`). A row
 * that was removed and came back is compared by its first and last state.
 */
export async function differentCells(
  trx: Trx,
  list: PriceList,
  revisions: Revisions,
): Promise<RawBuilder<unknown>> {
  const { rows } = await sql<{ changes: number; moves: number }>`
    select coalesce(sum(priced + added + removed), 0) as changes, coalesce(sum(added + removed), 0) as moves
    from list_revisions
    where account_id = ${list.account_id} and price_list_id = ${list.id}
      and revision > ${revisions.after} and revision <= ${revisions.until}`.execute(trx)
  const { changes = 0, moves = 0 } = rows[0] ?? {}
  return Number(moves) > 0
    ? cellsByKey(list, revisions, Number(changes))
    : cellsByRow(list, revisions, Number(changes))
}

const ends = sql`(array_agg(cell.old order by cell.revision))[1] as first_old,
  (array_agg(cell.new order by cell.revision desc))[1] as last_new`

/** `differentCells` if no row was added or removed: needs a quarter of the lookups. */
function cellsByRow(list: PriceList, revisions: Revisions, changes: number): RawBuilder<unknown> {
  const key = sql`product_id, code, extension_key, extensions`
  const cells = list.is_calendar
    ? sql`select row_id, ${key}, dimension, date, ${ends} from ${keyedCells(list, revisions)}
        group by row_id, ${key}, dimension, date`
    : endsByRow(list, revisions)
  const keys = list.is_calendar ? sql`` : joinKeys(list, changes)
  return sql`(
    select row_id as pk, ${key}, dimension, date, first_old as old, last_new as new, true as was, true as is_now
    from (${cells}) as cell ${keys}
    where first_old is distinct from last_new
  ) as cell`
}

/** SQL of the first old and last new price of each cell of a list without a calendar. */
function endsByRow(list: PriceList, revisions: Revisions): RawBuilder<unknown> {
  const changed = changedCells(list, revisions)
  // One revision changes a cell once, and grouping a million takes seconds.
  return revisions.until - revisions.after === 1
    ? sql`select row_id, dimension, date, old as first_old, new as last_new from ${changed}`
    : sql`select row_id, dimension, date, ${ends} from ${changed} group by row_id, dimension, date`
}

function cellsByKey(list: PriceList, revisions: Revisions, changes: number): RawBuilder<unknown> {
  const { after, until } = revisions
  const isAt = (revision: number) => isMemberAt(revision, sql`rows`)
  const newest = sql`${isAt(until)} desc, ${isAt(after)} desc`
  return sql`(
    select row.pk, row.product_id, cell.code, cell.extension_key, cell.extensions, cell.dimension, cell.date,
      cell.first_old as old, cell.last_new as new, row.was, row.is_now
    from (
      select code, extension_key, extensions, dimension, date, ${ends}
      from ${keyedCells(list, revisions, changes)}
      group by code, extension_key, extensions, dimension, date
    ) as cell
    cross join lateral (
      select bool_or(${isAt(after)}) as was, bool_or(${isAt(until)}) as is_now,
        (array_agg(id order by ${newest}))[1] as pk, (array_agg(product_id order by ${newest}))[1] as product_id
      from ${rowsWithKey(list, sql`cell`)}
    ) as row
    where (row.was or row.is_now) and (row.was <> row.is_now or cell.first_old is distinct from cell.last_new)
      and ${list.is_calendar ? isPriced : sql`true`}
  ) as cell`
}

/** For a row that was added or removed, only days with a price are shown. */
const isPriced = sql`(row.was and cell.first_old is not null or row.is_now and cell.last_new is not null)`

/** SQL of a FROM item `rows` with all rows, present and past, that had this key in a list. */
export function rowsWithKey(
  { account_id, id }: PriceList,
  key: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const isKey = sql`account_id = ${account_id} and price_list_id = ${id} and code = ${key}.code
    and extension_key = ${key}.extension_key`
  return sql`(
    select id, product_id, added_version, removed_version from price_list_rows where ${isKey}
    union all
    select row_id, product_id, added_version, removed_version from removed_rows where ${isKey}
  ) as rows`
}

/** SQL of a change in percent, rounded half up to 6 decimals; null if the old price is 0 or either is missing. */
export function changePercent(
  old: RawBuilder<unknown>,
  now: RawBuilder<unknown>,
): RawBuilder<number | null> {
  return sql`(div(200000000 * ${now} + ${old}, 2 * nullif(${old}, 0)) * 0.000001 - 100)`
}

/** As `changePercent` but to 20 decimals, for further calculation. */
export const unroundedPercent = (old: RawBuilder<unknown>, now: RawBuilder<unknown>) =>
  sql<number | null>`(div((${now} - ${old}) * 1e22, nullif(${old}, 0)) * 1e-20)`

const changeKeys = ['revision', 'at', 'change', 'old', 'new', 'change_percent']

/** Whether an extension is shown: the keys of a change come before a column of the same name. */
const isBeside =
  ({ hide_unpriced }: PriceList) =>
  (name: string) =>
    !changeKeys.includes(name) && !(hide_unpriced && name === 'priced')

/** Returns a function that converts a stored cell to the contract's form. */
export function shownCell(list: PriceList, columns: Columns) {
  const isShown = isBeside(list)
  return (cell: Omit<DiffCell, 'id'>): Schemas['CellChange'] => ({
    pk: cell.pk,
    extended_catalog_id: cell.product_id,
    code: cell.code,
    ...Object.fromEntries(
      columnEntries(columns.extensions, cell.extensions).filter(([name]) => isShown(name)),
    ),
    price_dimension: list.price_dimensions[cell.dimension - 1] as string,
    ...(cell.date !== null && { date: cell.date }),
    change: cell.change,
    old: cell.old,
    new: cell.new,
    change_percent: cell.change_percent,
    ...(list.hide_unpriced && { priced: cell.priced }),
  })
}
