import { type RawBuilder, sql } from 'kysely'
import { extensionKey } from '../catalog/row-key.ts'
import { arrayLiteral, readNumbers } from '../database/array-literal.ts'
import type { Trx } from '../database/pool.ts'
import { isPublishedNow } from '../price-lists/publication.ts'
import type { Pricing } from './known-pricings.ts'
import type { MatchingRow } from './matching-rows.ts'
import { rejectChanged, type Versions, versionColumns } from './pricing-changes.ts'
import type { WantedRow } from './wanted-rows.ts'

/** A wanted row that names its code and every extension. */
export const isExact = (row: WantedRow): boolean =>
  row.code !== null && !row.extensions.includes(null)

/** A number for each wanted row, null where the list has none, as Postgres writes an array. */
type FoundArrays = Versions & Record<'ids' | 'products' | 'prices', string>

/**
 * The published rows of a list without calendar that fully named rows mean, in their order. Throws PricingChanged. The
 * statement answers three arrays, only what the wanted rows lack: making an object of each row costs more than finding it.
 */
export async function findExactRows(
  trx: Trx,
  pricing: Pricing,
  wanted: WantedRow[],
): Promise<MatchingRow[]> {
  const { list } = pricing
  const { input, key, dimension } = inputOf(wanted)
  const { rows } = await sql<FoundArrays>`
    select array_agg(r.id order by place)::text as ids,
      array_agg(r.product_id order by place)::text as products,
      array_agg(r.prices[${dimension}] order by place)::text as prices, ${versionColumns(list)}
    from ${input}
    left join price_list_rows r on r.account_id = ${list.account_id} and r.price_list_id = ${list.id}
      and r.code = input.code and r.extension_key = ${key} and ${isPublishedNow(list)}`.execute(trx)
  const found = rows[0] as FoundArrays
  rejectChanged(pricing, found)
  return readFound(wanted, found)
}

interface Input {
  input: RawBuilder<unknown>
  key: RawBuilder<string>
  dimension: RawBuilder<number>
}

/** Most reads ask for one market and one dimension: then only the codes are arrays. */
function inputOf(wanted: WantedRow[]): Input {
  const codes = sql`(select ${arrayLiteral(wanted.map(({ code }) => code))}::text[])`
  const keys = wanted.map(({ extensions }) => extensionKey(extensions))
  const dimensions = wanted.map(({ dimension }) => dimension)
  if (areAlike(keys) && areAlike(dimensions)) {
    return {
      input: sql`unnest(${codes}) with ordinality as input (code, place)`,
      key: sql`${keys[0]}`,
      dimension: sql`${dimensions[0]}::integer`,
    }
  }
  return {
    input: sql`
      unnest(${codes}, (select ${arrayLiteral(keys)}::text[]), (select ${arrayLiteral(dimensions)}::integer[]))
        with ordinality as input (code, extension_key, dimension, place)`,
    key: sql`input.extension_key`,
    dimension: sql`input.dimension`,
  }
}

const areAlike = (values: unknown[]): boolean => values.every((value) => value === values[0])

function readFound(wanted: WantedRow[], found: FoundArrays): MatchingRow[] {
  const ids: (number | null)[] = readNumbers(found.ids)
  const [products, prices] = [readNumbers(found.products), readNumbers(found.prices)]
  return wanted.flatMap(({ code, extensions }, at) => {
    const id = ids[at] ?? null
    if (id === null) return []
    const [product_id, price] = [products[at] as number, prices[at] as number]
    return { at, id, product_id, code: code as string, extensions: extensions as string[], price }
  })
}
