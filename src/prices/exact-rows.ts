import { sql } from 'kysely'
import type { Trx } from '../database/pool.ts'
import { isPublished } from '../price-lists/publication.ts'
import type { PriceList } from '../price-lists/queries.ts'
import type { MatchingRow } from './matching-rows.ts'
import type { WantedRow } from './wanted-rows.ts'

/** A wanted row that names its code and every extension. */
export const isExact = (row: WantedRow): boolean =>
  row.code !== null && !row.extensions.includes(null)

/**
 * The published rows of a list without calendar that fully named rows mean, in their order. The statement answers three
 * arrays, only what the wanted rows lack: making an object of each row costs more than finding it.
 */
export async function findExactRows(
  trx: Trx,
  list: PriceList,
  wanted: WantedRow[],
): Promise<MatchingRow[]> {
  const extensions = wanted[0]?.extensions.map((_, index) => sql.ref(`e${index}`)) ?? []
  const arrays = [
    sql`${wanted.map(({ code }) => code)}::text[]`,
    sql`${wanted.map(({ dimension }) => dimension)}::integer[]`,
    ...extensions.map((_, index) => sql`${wanted.map((row) => row.extensions[index])}::text[]`),
  ]
  const names = sql.join([sql.ref('code'), sql.ref('dimension'), ...extensions])
  const { rows } = await sql<Record<'ids' | 'products' | 'prices', (number | null)[] | null>>`
    select array_agg(r.id order by position) as ids,
      array_agg(r.product_id order by position) as products,
      array_agg(r.prices[dimension] order by position) as prices
    from unnest(${sql.join(arrays)}) with ordinality as input (${names}, position)
    join price_lists l on l.account_id = ${list.account_id} and l.id = ${list.id}
    left join price_list_rows r on r.account_id = ${list.account_id}
      and r.price_list_id = ${list.id} and r.code = input.code
      and r.extensions = array[${sql.join(extensions)}]::text[] and ${isPublished}`.execute(trx)
  const { ids, products, prices } = rows[0] ?? {}
  return wanted.flatMap(({ position, code, extensions }, index): MatchingRow[] => {
    const id = ids?.[index]
    if (id === null || id === undefined) return []
    const key = { position, id, product_id: products?.[index] as number, code: code as string }
    return [{ ...key, extensions: extensions as string[], price: prices?.[index] as number }]
  })
}
