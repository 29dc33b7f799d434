import { sql } from 'kysely'
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
  list: PriceList,
  wanted: WantedRow[],
  most: number,
): Promise<number> {
  const open = wanted.filter((row) => !isExact(row))
  const codes = open.flatMap(({ code }) => code ?? [])
  const exact = wanted.length - open.length
  const named = codes.length > 0 ? await countCodes(trx, list, codes, most + 1) : 0
  const unnamed = open.length - codes.length
  return exact + named + (unnamed > 0 ? unnamed * (await countRows(trx, list, most + 1)) : 0)
}

async function countCodes(
  trx: Trx,
  { account_id, id }: PriceList,
  codes: string[],
  most: number,
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (
      select from unnest(${codes}::text[]) as input (code)
      join price_list_rows r on r.account_id = ${account_id} and r.price_list_id = ${id} and r.code = input.code
      limit ${most}
    ) as bounded`.execute(trx)
  return rows[0]?.count ?? 0
}

async function countRows(trx: Trx, { account_id, id }: PriceList, most: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (
      select from price_list_rows where account_id = ${account_id} and price_list_id = ${id} limit ${most}
    ) as bounded`.execute(trx)
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
