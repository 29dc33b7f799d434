import { type RawBuilder, sql } from 'kysely'
import { columnEntries } from '../../catalog/column-value.ts'
import { type Columns, findColumns, keyOrder } from '../../catalog/columns.ts'
import type { Export } from '../../contract/export.ts'
import {
  Answer,
  type OperationRequest,
  type Schemas,
  transaction,
} from '../../contract/operation.ts'
import { Problem } from '../../contract/problem.ts'
import { readPage } from '../../contract/read-page.ts'
import { invalidRequest } from '../../contract/row-errors.ts'
import { onlyRow } from '../../database/only-row.ts'
import type { Trx } from '../../database/pool.ts'
import { mapCooperatively } from '../../lib/cooperative.ts'
import { findPriceList, ofList, type PriceList, rejectUnpublished } from '../queries.ts'
import type { Revisions } from './changed-cells.ts'
import { differentCells } from './different-cells.ts'
import { findMoment } from './moments.ts'
import { revisionHeader } from './record-revision.ts'

/** One page of the cells that differ between two moments of a list, by code and extensions. Throws `too-costly`. */
export const diffPriceList = transaction<'diffPriceList'>(
  async (trx, { account, params, query }) => {
    const { list, columns, revisions } = await openDiff(trx, { account, params, query })
    await rejectCostly(trx, list, revisions)
    const all = await selectDiff(trx, list, columns, revisions, query.order)
    const { count, rows } = await readPage<DiffCell>(trx, { all, query })
    const results = await mapCooperatively(rows, shownCell(list, columns))
    return new Answer({ count, results }, revisionHeader(revisions.until))
  },
)

/** Exports all cells that differ, in the order of `diffPriceList`. */
export const exportDiff: Export<'diffPriceList'> = async (trx, request) => {
  const { list, columns, revisions } = await openDiff(trx, request)
  const { order } = request.query
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
    query: sql`${await selectDiff(trx, list, columns, revisions, order)} order by id`,
    rowsOf: (cell: DiffCell) => [show(cell)],
  }
}

type Query = OperationRequest<'diffPriceList'>['query']

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
  const { changes } = await onlyRow<{ changes: number }>(trx)`
    select coalesce(sum(priced + (added + removed) * ${list.price_dimensions.length}::bigint), 0) as changes
    from list_revisions
    where ${ofList(list)}
      and revision > ${after} and revision <= ${until}`
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
  order: Query['order'],
): Promise<RawBuilder<DiffCell>> {
  const cells = await differentCells(trx, list, revisions)
  const percent = changePercent(sql`old`, sql`new`)
  const byChange = order === 'change' ? sql`abs(${percent}) desc nulls first,` : sql``
  return sql`
    select row_number() over (order by ${byChange} ${keyOrder(columns)}, dimension, date) as id, pk, product_id, code,
      extensions, dimension, date, change, old, new, ${percent} as change_percent, priced
    from (
      select pk, product_id, code, extensions, dimension, date,
        case when was and is_now then 'priced' when is_now then 'added' else 'removed' end as change,
        case when was then coalesce(old, 0) end as old, case when is_now then coalesce(new, 0) end as new,
        is_now and new is not null as priced
      from ${cells}
    ) as cell`
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
