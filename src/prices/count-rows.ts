import { type RawBuilder, sql } from 'kysely'
import type { Columns } from '../catalog/columns.ts'
import type { Trx } from '../database/pool.ts'
import type { PriceList } from '../price-lists/queries.ts'
import { isExact } from './exact-rows.ts'
import { selectAllMatching } from './matching-rows.ts'
import type { WantedRow } from './wanted-rows.ts'

/**
 * At most how many rows match: those with the code for each row that names one, those of the list for each that does not.
 * Counted no further than `most`.
 */
export async function boundMatchingRows(
  trx: Trx,
  { account_id, id }: PriceList,
  wanted: WantedRow[],
  most: number,
): Promise<number> {
  const open = wanted.filter((row) => !isExact(row))
  const codes = open.flatMap(({ code }) => code ?? [])
  const unnamed = open.length - codes.length
  const ofList = sql`price_list_rows r where r.account_id = ${account_id} and r.price_list_id = ${id}`
  const ofCodes = sql`unnest(${codes}::text[]) as input (code), ${ofList} and r.code = input.code`
  const named = codes.length > 0 ? await countUpTo(trx, ofCodes, most + 1) : 0
  const each = unnamed > 0 ? await countUpTo(trx, ofList, most + 1) : 0
  return wanted.length - open.length + named + unnamed * each
}

async function countUpTo(trx: Trx, from: RawBuilder<unknown>, most: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (select from ${from} limit ${most}) as bounded`.execute(trx)
  return rows[0]?.count ?? 0
}

/** How many rows match, without reading them. Input rows that name the same are matched once and counted as often. */
export async function countMatchingRows(
  trx: Trx,
  list: PriceList,
  columns: Columns,
  wanted: WantedRow[],
): Promise<number> {
  const alike = [
    ...Map.groupBy(wanted, (row) => JSON.stringify([row.code, row.extensions, row.attributes])),
  ].map(([, rows]) => rows)
  const distinct = alike.map(([row]) => row as WantedRow)
  const extras = { costs: false, dynamicAttributes: false, attributes: false }
  const { rows } = await sql<{ at: number; count: number }>`
    select at, count(*) as count
    from (${selectAllMatching(list, columns, distinct, extras)}) as matching
    group by at`.execute(trx)
  return rows.reduce((sum, { at, count }) => sum + count * (alike[at]?.length ?? 0), 0)
}
