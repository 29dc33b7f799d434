import { sql } from 'kysely'
import type { Columns } from '../catalog/columns.ts'
import type { Trx } from '../database/pool.ts'
import type { PriceList } from '../price-lists/queries.ts'
import { isExact } from './exact-rows.ts'
import { selectAllMatching } from './matching-rows.ts'
import type { WantedRow } from './wanted-rows.ts'

/** At most how many rows match: those of the list for each row with a wildcard; counted no further than `most`. */
export async function boundMatchingRows(
  trx: Trx,
  { account_id, id }: PriceList,
  wanted: WantedRow[],
  most: number,
): Promise<number> {
  const exact = wanted.filter(isExact).length
  if (exact === wanted.length) return exact
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (
      select from price_list_rows where account_id = ${account_id} and price_list_id = ${id} limit ${most + 1}
    ) as bounded`.execute(trx)
  return exact + (rows[0]?.count ?? 0) * (wanted.length - exact)
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
