import { sql } from 'kysely'
import type { Columns } from '../../catalog/columns.ts'
import { Problem } from '../../contract/problem.ts'
import { withinReadTime } from '../../contract/read-cost.ts'
import { onlyRow } from '../../database/only-row.ts'
import type { Trx } from '../../database/pool.ts'
import type { ListRows } from '../../price-lists/list-rows.ts'
import { ofList } from '../../price-lists/queries.ts'
import { selectAllMatching } from './matching-rows.ts'
import { isExact, type WantedRow } from './wanted-rows.ts'
import { countScans } from './wildcards.ts'

/** List rows that a read may visit for each row that it may return: visiting 5,000,000 takes about two seconds. */
const visitsOfRow = 5

/**
 * An upper bound on matching rows, counted before any is read: for a wanted row with a code, the rows of that code;
 * otherwise, the whole list. Throws `too-costly` for a read that would visit too many rows, unless it visits each only
 * once.
 */
export async function boundMatchingRows(
  trx: Trx,
  rows: ListRows,
  wanted: WantedRow[],
  rowsMax: number,
): Promise<number> {
  const open = wanted.filter((row) => !isExact(row))
  const codes = open.flatMap(({ code }) => code ?? [])
  const unnamed = open.filter(({ code }) => code === null)
  const scans = countScans(unnamed)
  const visitsMax = rowsMax * visitsOfRow
  const countedMax = Math.max(rowsMax, scans > 1 ? Math.ceil(visitsMax / scans) : 0) + 1
  const ofCodes = codes.length > 0 ? await countOfCodes(trx, rows, codes) : 0
  const ofList = scans > 0 ? await countUpTo(trx, rows, countedMax) : 0
  rejectCostly({ ofCodes, ofList: scans > 1 ? scans * ofList : 0 }, visitsMax)
  return wanted.length - open.length + ofCodes + unnamed.length * ofList
}

/** Counts the list's rows with these codes; a repeated code counts each time. */
async function countOfCodes(trx: Trx, { list, fromKeys }: ListRows, codes: string[]) {
  const { count } = await onlyRow<{ count: number }>(trx)`
    select coalesce(sum(times * (
      select count(*) from ${fromKeys}
      where ${ofList(list, 'r')} and r.code = input.code
    )), 0) as count
    from (select code, count(*) as times from unnest(${codes}::text[]) as given (code) group by code) as input`
  return count
}

async function countUpTo(trx: Trx, { list, fromKeys }: ListRows, most: number): Promise<number> {
  const { count } = await onlyRow<{ count: number }>(trx)`
    select count(*) as count
    from (
      select from ${fromKeys} where ${ofList(list, 'r')} limit ${most}
    ) as bounded`
  return count
}

function rejectCostly(
  { ofCodes, ofList }: { ofCodes: number; ofList: number },
  visitsMax: number,
): void {
  const visits = ofCodes + ofList
  if (visits <= visitsMax) return
  const advice =
    ofCodes > ofList
      ? 'Name the extensions of rows that have a code'
      : 'Name codes, or the same columns in all rows without a code'
  throw new Problem(
    'too-costly',
    `A read looks at no more than ${visitsMax} rows of the list, this one would look at ${visits} or more. ${advice}, or send the rows in several calls.`,
  )
}

/**
 * Counts the matching rows. Equal wanted rows are matched once and multiplied; their dimensions and days matter only if
 * the list hides unpriced rows. Throws `too-costly`.
 */
export async function countMatchingRows(
  trx: Trx,
  rowsOfList: ListRows,
  columns: Columns,
  wanted: WantedRow[],
): Promise<number> {
  const alike = [
    ...Map.groupBy(wanted, ({ code, extensions, attributes, dimension, date }) => {
      const cell = rowsOfList.list.hide_unpriced ? [dimension, date] : []
      return JSON.stringify([code, extensions, attributes, ...cell])
    }),
  ].map(([, rows]) => rows)
  const distinct = alike.map(([row]) => row as WantedRow)
  const extras = { costs: false, dynamicAttributes: false, attributes: false, priced: false }
  const statement = sql<{ at: number; count: number }>`
    select at, count(*) as count
    from (${selectAllMatching(rowsOfList, columns, distinct, extras)}) as matching
    group by at`
  const { rows } = await withinReadTime(fewerRows, () => statement.execute(trx))
  return rows.reduce((sum, { at, count }) => sum + count * (alike[at]?.length ?? 0), 0)
}

/** Advice for a read that takes too long. */
export const fewerRows = 'Name more of code, extensions and attributes, or send fewer rows.'
