import { sql } from 'kysely'
import { extensionKey } from '../catalog/row-key.ts'
import type { Trx } from '../database/pool.ts'
import { isPublishedNow } from '../price-lists/publication.ts'
import type { PriceList } from '../price-lists/queries.ts'
import type { MatchingRow } from './matching-rows.ts'
import type { WantedRow } from './wanted-rows.ts'

/** A wanted row that names its code and every extension. */
export const isExact = (row: WantedRow): boolean =>
  row.code !== null && !row.extensions.includes(null)

type FoundArrays = Record<'places' | 'ids' | 'products' | 'prices', number[] | null>

/**
 * The published rows of a list without calendar that fully named rows mean, in their order. The statement answers four
 * arrays, only what the wanted rows lack: making an object of each row costs more than finding it.
 */
export async function findExactRows(
  trx: Trx,
  list: PriceList,
  wanted: WantedRow[],
): Promise<MatchingRow[]> {
  const { rows } = await sql<FoundArrays>`
    select array_agg(place) as places, array_agg(r.id) as ids, array_agg(r.product_id) as products,
      array_agg(r.prices[dimension]) as prices
    from unnest(
      (select ${wanted.map(({ code }) => code)}::text[]),
      (select ${wanted.map(({ extensions }) => extensionKey(extensions))}::text[]),
      (select ${wanted.map(({ dimension }) => dimension)}::integer[])
    ) with ordinality as input (code, extension_key, dimension, place)
    join price_list_rows r on r.account_id = ${list.account_id} and r.price_list_id = ${list.id}
      and r.code = input.code and r.extension_key = input.extension_key
    where ${isPublishedNow(list)}`.execute(trx)
  return inOrder(wanted, rows[0])
}

function inOrder(
  wanted: WantedRow[],
  { places, ids, products, prices }: Partial<FoundArrays> = {},
): MatchingRow[] {
  const matching = new Array<MatchingRow | undefined>(wanted.length)
  for (const [index, place] of (places ?? []).entries()) {
    const { code, extensions } = wanted[place - 1] as WantedRow
    matching[place - 1] = {
      at: place - 1,
      id: ids?.[index] as number,
      product_id: products?.[index] as number,
      code: code as string,
      extensions: extensions as string[],
      price: prices?.[index] as number,
    }
  }
  return matching.filter((row) => row !== undefined)
}
