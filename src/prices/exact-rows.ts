import { sql } from 'kysely'
import { extensionKey } from '../catalog/row-key.ts'
import { arrayLiteral, readNumbers } from '../database/array-literal.ts'
import type { Trx } from '../database/pool.ts'
import { isPublishedNow } from '../price-lists/publication.ts'
import { type AlikeRows, findAlikeRows } from './alike-rows.ts'
import type { Pricing } from './known-pricings.ts'
import type { MatchingRow } from './matching-rows.ts'
import { rejectChanged, type Versions, versionColumns } from './pricing-changes.ts'
import type { WantedRow } from './wanted-rows.ts'

/** A wanted row that names its code and every extension. */
export const isExact = (row: WantedRow): boolean =>
  row.code !== null && !row.extensions.includes(null)

/** Most reads are about a market or two and a dimension or two: so many kinds are looked up kind by kind. */
const kindsMax = 4

/** The published rows of a list without calendar that fully named rows mean, in their order. Throws PricingChanged. */
export async function findExactRows(
  trx: Trx,
  pricing: Pricing,
  wanted: WantedRow[],
): Promise<MatchingRow[]> {
  const kinds = groupByKind(wanted)
  const found =
    kinds.length > kindsMax
      ? await findUnlikeRows(trx, pricing, wanted)
      : (await Promise.all(kinds.map((kind) => findAlikeRows(trx, pricing, kind)))).flat()
  return found.sort((a, b) => a.at - b.at)
}

function groupByKind(wanted: WantedRow[]): AlikeRows[] {
  const kinds = new Map<string, AlikeRows>()
  for (const [at, { code, extensions, dimension }] of wanted.entries()) {
    const key = `${dimension} ${extensionKey(extensions)}`
    const kind = kinds.get(key) ?? { extensions: extensions as string[], dimension, rows: [] }
    if (kind.rows.length === 0) kinds.set(key, kind)
    kind.rows.push({ at, code: code as string })
  }
  return [...kinds.values()]
}

/** Arrays of numbers as Postgres writes them. */
type FoundArrays = Versions & Record<'places' | 'ids' | 'products' | 'prices', string | null>

/**
 * The statement answers four arrays, only what the wanted rows lack: making an object of each row costs more than
 * finding it. It takes them sorted by code, which finds neighbours on the same pages of the index.
 */
async function findUnlikeRows(
  trx: Trx,
  pricing: Pricing,
  wanted: WantedRow[],
): Promise<MatchingRow[]> {
  const { list } = pricing
  const sorted = byCode(wanted)
  const take = <T extends string | number | null>(textOf: (row: WantedRow) => T) =>
    arrayLiteral(sorted.map((place) => textOf(wanted[place] as WantedRow)))
  const { rows } = await sql<FoundArrays>`
    select array_agg(place)::text as places, array_agg(r.id)::text as ids,
      array_agg(r.product_id)::text as products, array_agg(r.prices[dimension])::text as prices,
      ${versionColumns(list)}
    from unnest(
      (select ${arrayLiteral(sorted)}::integer[]),
      (select ${take(({ code }) => code)}::text[]),
      (select ${take(({ extensions }) => extensionKey(extensions))}::text[]),
      (select ${take(({ dimension }) => dimension)}::integer[])
    ) as input (place, code, extension_key, dimension)
    join price_list_rows r on r.account_id = ${list.account_id} and r.price_list_id = ${list.id}
      and r.code = input.code and r.extension_key = input.extension_key
    where ${isPublishedNow(list)}`.execute(trx)
  const found = rows[0] as FoundArrays
  rejectChanged(pricing, found)
  return readFound(wanted, found)
}

/** The places of the rows in the order of their codes. */
function byCode(wanted: WantedRow[]): number[] {
  const codes = wanted.map(({ code }) => code as string)
  const isBefore = (a: number, b: number) => ((codes[a] as string) < (codes[b] as string) ? -1 : 1)
  return codes.map((_, place) => place).sort(isBefore)
}

function readFound(wanted: WantedRow[], found: FoundArrays): MatchingRow[] {
  const [ids, products, prices] = [found.ids, found.products, found.prices].map(readNumbers)
  return readNumbers(found.places).map((at, index) => {
    const { code, extensions } = wanted[at] as WantedRow
    const [id, product_id] = [ids?.[index] as number, products?.[index] as number]
    const named = { code: code as string, extensions: extensions as string[] }
    return { at, id, product_id, ...named, price: prices?.[index] as number }
  })
}
