import { type RawBuilder, sql } from 'kysely'
import { extensionKey } from '../catalog/row-key.ts'
import { arrayLiteral, readNumbers } from '../database/input-rows.ts'
import type { Trx } from '../database/pool.ts'
import { monthPlace } from '../price-lists/calendar.ts'
import { isPublishedNow } from '../price-lists/publication.ts'
import type { PriceList } from '../price-lists/queries.ts'
import type { MatchingRow } from './matching-rows.ts'
import { type Pricing, rejectChanged, type Versions, versionColumns } from './pricing.ts'
import type { WantedRow } from './wanted-rows.ts'

/** A wanted row that names its code and every extension. */
export const isExact = (row: WantedRow): boolean =>
  row.code !== null && !row.extensions.includes(null)

/** A number for each wanted row, null where the list has none, as Postgres writes an array. */
type FoundArrays = Versions & Record<'ids' | 'products' | 'prices', string>

/**
 * The published rows of a list that fully named rows mean, in their order. Throws PricingChanged. The statement answers
 * three arrays, only what the wanted rows lack: making an object of each row costs more than finding it.
 */
export async function findExactRows(
  trx: Trx,
  pricing: Pricing,
  wanted: WantedRow[],
): Promise<MatchingRow[]> {
  const { list } = pricing
  const { price, calendar } = list.is_calendar ? priceOfDay(list) : priceOfRow
  const { rows } = await sql<FoundArrays>`
    select array_agg(r.id order by place)::text as ids,
      array_agg(r.product_id order by place)::text as products,
      array_agg(${price} order by place)::text as prices, ${versionColumns(list)}
    from ${inputOf(list, wanted)}
    left join price_list_rows r on r.account_id = ${list.account_id} and r.price_list_id = ${list.id}
      and r.code = input.code and r.extension_key = input.extension_key and ${isPublishedNow(list)}
    ${calendar}`.execute(trx)
  const found = rows[0] as FoundArrays
  rejectChanged(pricing, found)
  return readFound(wanted, found)
}

/** The price of an input row, and what is joined for it. */
interface PriceSource {
  price: RawBuilder<number>
  calendar: RawBuilder<unknown>
}

const priceOfRow: PriceSource = { price: sql`r.prices[input.dimension]`, calendar: sql`` }

/** A day without a price is 0. */
const priceOfDay = ({ account_id, id }: PriceList): PriceSource => ({
  price: sql`coalesce(m.prices[input.day], 0)`,
  calendar: sql`
    left join calendar_months m on m.account_id = ${account_id} and m.price_list_id = ${id}
      and m.row_id = r.id and m.dimension = input.dimension and m.month = input.month`,
})

interface InputColumn {
  name: RawBuilder<unknown>
  type: RawBuilder<unknown>
  value: (row: WantedRow) => string | number
}

const rowColumns: InputColumn[] = [
  {
    name: sql`extension_key`,
    type: sql`text`,
    value: ({ extensions }) => extensionKey(extensions),
  },
  { name: sql`dimension`, type: sql`integer`, value: ({ dimension }) => dimension },
]

const dayColumns: InputColumn[] = [
  ...rowColumns,
  { name: sql`month`, type: sql`date`, value: ({ date = '' }) => monthPlace(date).month },
  { name: sql`day`, type: sql`integer`, value: ({ date = '' }) => monthPlace(date).place },
]

/** Most reads ask for one market, dimension and day: then only the codes are arrays. */
function inputOf({ is_calendar }: PriceList, wanted: WantedRow[]): RawBuilder<unknown> {
  const columns = is_calendar ? dayColumns : rowColumns
  const values = columns.map(({ value }) => wanted.map(value))
  const codes = sql`(select ${arrayLiteral(wanted.map(({ code }) => code))}::text[])`
  if (values.every(areAlike)) {
    const alike = columns.map(
      ({ name, type }, index) => sql`${values[index]?.[0]}::${type} as ${name}`,
    )
    return sql`(
      select code, place, ${sql.join(alike)} from unnest(${codes}) with ordinality as input (code, place)
    ) as input`
  }
  const arrays = columns.map(
    ({ type }, index) => sql`(select ${arrayLiteral(values[index] ?? [])}::${type}[])`,
  )
  const names = columns.map(({ name }) => name)
  return sql`
    unnest(${codes}, ${sql.join(arrays)}) with ordinality as input (code, ${sql.join(names)}, place)`
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
