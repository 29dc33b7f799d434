import { type RawBuilder, sql } from 'kysely'
import { extensionKey } from '../../catalog/row-key.ts'
import type { Positioned } from '../../contract/duplicates.ts'
import type { Schemas } from '../../contract/operation.ts'
import type { RowErrors } from '../../contract/row-errors.ts'
import { arrayLiteral, readNumbers } from '../../database/input-rows.ts'
import type { Trx } from '../../database/pool.ts'
import { yieldToEventLoop } from '../../lib/cooperative.ts'
import { monthPlace } from '../../price-lists/calendar.ts'
import { isPublishedNow } from '../../price-lists/publication.ts'
import type { PriceList } from '../../price-lists/queries.ts'
import { type MatchingRow, priceOf } from './matching-rows.ts'
import type { HeldRows, WrittenRows } from './price-rows.ts'
import {
  lookForChanges,
  type Pricing,
  rejectChanged,
  type Versions,
  versionColumns,
} from './pricing.ts'
import { isExact, readWantedRows, type WantedRow } from './wanted-rows.ts'

/** Keys of one statement: while Postgres looks them up, the next are checked and the last are written. */
const keysAtOnce = 1000

/**
 * The answer to a read whose rows are all exact. Undefined when a row has a wildcard or is faulty, or when the answer is
 * too long to be held. Throws PricingChanged.
 */
export async function readExactRows(
  trx: Trx,
  pricing: Pricing,
  rows: readonly Positioned<Schemas['GetPricesRow']>[],
  { errors, held }: { errors: RowErrors; held: HeldRows },
): Promise<WrittenRows | undefined> {
  const pieces: Promise<string>[] = []
  let count = 0
  for (let from = 0; from < rows.length; from += keysAtOnce) {
    if (from > 0) await yieldToEventLoop()
    const slice = rows.slice(from, from + keysAtOnce)
    const wanted = readWantedRows(slice, pricing.list, pricing.columns, errors)
    if (errors.count > 0 || !wanted.every(isExact)) return endOf(pieces)
    const piece = findExactRows(trx, pricing, wanted).then((found) => {
      count += found.length
      return held.write(wanted, found)
    })
    // Its failure is seen below, where all pieces are awaited.
    piece.catch(() => undefined)
    pieces.push(piece)
  }
  if (pieces.length === 0) await lookForChanges(trx, pricing)
  const texts = await Promise.all(pieces)
  return held.areTooLong ? undefined : { texts, rows: count }
}

/** Awaits pieces that are no longer needed, so that their failure is not taken for that of the next statement. */
async function endOf(pieces: Promise<string>[]): Promise<undefined> {
  await Promise.all(pieces)
}

/** For each wanted row a number, null where the list has no such row; as the text of a Postgres array. */
type FoundArrays = Versions & Record<'ids' | 'products' | 'prices', string>

/**
 * The published rows with these keys, in their order. Throws PricingChanged. The statement answers three arrays: an
 * object for each row would cost more than finding it.
 */
async function findExactRows(
  trx: Trx,
  pricing: Pricing,
  wanted: WantedRow[],
): Promise<MatchingRow[]> {
  const { list } = pricing
  const { rows } = await sql<FoundArrays>`
    select array_agg(r.id order by at)::text as ids,
      array_agg(r.product_id order by at)::text as products,
      array_agg(${priceOf(list)} order by at)::text as prices, ${versionColumns(list)}
    from ${inputOf(list, wanted)}
    left join price_list_rows r on r.account_id = ${list.account_id} and r.price_list_id = ${list.id}
      and r.code = input.code and r.extension_key = input.extension_key and ${isPublishedNow(list)}`.execute(
    trx,
  )
  const found = rows[0] as FoundArrays
  rejectChanged(pricing, found)
  return readFound(wanted, found)
}

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
  { name: sql`place`, type: sql`integer`, value: ({ date = '' }) => monthPlace(date).place },
]

/** Most reads ask for one market, dimension and day: then only the codes are an array. */
function inputOf({ is_calendar }: PriceList, wanted: WantedRow[]): RawBuilder<unknown> {
  const columns = is_calendar ? dayColumns : rowColumns
  const values = columns.map(({ value }) => wanted.map(value))
  const codes = sql`(select ${arrayLiteral(wanted.map(({ code }) => code))}::text[])`
  if (values.every(areAlike)) {
    const alike = columns.map(
      ({ name, type }, index) => sql`${values[index]?.[0]}::${type} as ${name}`,
    )
    return sql`(
      select code, at, ${sql.join(alike)} from unnest(${codes}) with ordinality as input (code, at)
    ) as input`
  }
  const arrays = columns.map(
    ({ type }, index) => sql`(select ${arrayLiteral(values[index] ?? [])}::${type}[])`,
  )
  const names = columns.map(({ name }) => name)
  return sql`
    unnest(${codes}, ${sql.join(arrays)}) with ordinality as input (code, ${sql.join(names)}, at)`
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
