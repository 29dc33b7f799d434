import { CompiledQuery, type RawBuilder, sql } from 'kysely'
import { extensionKey } from '../../catalog/row-key.ts'
import type { Positioned } from '../../contract/duplicates.ts'
import type { Schemas } from '../../contract/operation.ts'
import type { RowErrors } from '../../contract/row-errors.ts'
import { type AccountSelect, accountSelect, type TextRow } from '../../database/account-select.ts'
import { arrayLiteral, readNumbers } from '../../database/array-literal.ts'
import type { Trx } from '../../database/pool.ts'
import { yieldToEventLoop } from '../../lib/cooperative.ts'
import { monthPlace } from '../../price-lists/calendar.ts'
import { pastPrices } from '../../price-lists/history/past-prices.ts'
import { publishedRows } from '../../price-lists/list-rows.ts'
import type { PriceList } from '../../price-lists/queries.ts'
import { type MatchingRow, setPrice } from './matching-rows.ts'
import type { HeldRows, WrittenRows } from './price-rows.ts'
import { type Pricing, rejectChanged, shownRevision, versionColumns } from './pricing.ts'
import { isExact, readWantedRows, type WantedRow } from './wanted-rows.ts'

/** Keys of one statement: while Postgres looks them up, the next are checked and the last are written. */
export const keysAtOnce = 1000

/**
 * The answer to a read whose rows are all exact. Undefined when there are none, when a row has a wildcard or is faulty, or
 * when the answer is too long to be held. Throws PricingChanged.
 */
export async function readExactRows(
  run: RunSelect,
  pricing: Pricing,
  rows: readonly Positioned<Schemas['GetPricesRow']>[],
  { errors, held }: { errors: RowErrors; held: HeldRows },
): Promise<WrittenRows | undefined> {
  const pieces: Promise<string>[] = []
  let count = 0
  let revision = 0
  for (let from = 0; from < rows.length; from += keysAtOnce) {
    if (from > 0) await yieldToEventLoop()
    const slice = rows.slice(from, from + keysAtOnce)
    const wanted = readWantedRows(slice, pricing.list, pricing.columns, errors)
    if (errors.count > 0 || !wanted.every(isExact)) return endOf(pieces)
    const find = pricing.moment ? findPastRows : findPresentRows
    const piece = find(run, pricing, wanted).then(({ found, version }) => {
      count += found.length
      revision = shownRevision({ pricing, listVersion: version })
      return held.write(wanted, found)
    })
    // Its failure is seen below, where all pieces are awaited.
    piece.catch(() => undefined)
    pieces.push(piece)
  }
  const texts = await Promise.all(pieces)
  return rows.length === 0 || held.areTooLong ? undefined : { texts, rows: count, revision }
}

/** Awaits pieces that are no longer needed, so that their failure is not taken for that of the next statement. */
async function endOf(pieces: Promise<string>[]): Promise<undefined> {
  await Promise.all(pieces)
}

/** Runs a SELECT of the account, in a transaction or in a round trip of its own. */
export type RunSelect = (select: AccountSelect, values: (string | number)[]) => Promise<TextRow[]>

/** In a transaction, for a read of several statements. */
export const selectIn =
  (trx: Trx): RunSelect =>
  async ({ text }, values) => {
    const { rows } = await trx.executeQuery<Record<string, unknown>>(
      CompiledQuery.raw(text, values),
    )
    return rows.map((row) =>
      Object.values(row).map((value) => (value === null ? null : String(value))),
    )
  }

/** The rows with these keys, in their order, and the version of the list. Throws PricingChanged. */
type FindRows = (
  run: RunSelect,
  pricing: Pricing,
  wanted: WantedRow[],
) => Promise<{ found: MatchingRow[]; version: number }>

const findPresentRows: FindRows = async (run, pricing, wanted) => {
  const { list } = pricing
  const values = columnsOf(list).map(({ value }) => wanted.map(value))
  const areAlike = values.slice(1).every((column) => column.every((value) => value === column[0]))
  const kind = wanted.length === 1 ? 'one' : areAlike ? 'alike' : 'any'
  const given = values.map((column, index) =>
    kind === 'any' || (kind === 'alike' && index === 0)
      ? arrayLiteral(column)
      : (column[0] as string | number),
  )
  const select = selects[list.is_calendar ? 'days' : 'rows'][kind]
  const [row] = await run(select, [list.account_id, list.id, ...given])
  const read =
    kind === 'one' ? (text: string | null) => [text === null ? null : Number(text)] : readNumbers
  return readFound(pricing, wanted, row, read)
}

const findPastRows: FindRows = async (run, pricing, wanted) => {
  const { list, moment } = pricing
  const given = keyColumns.map(({ value }) => arrayLiteral(wanted.map(value)))
  const values = [list.account_id, list.id, ...given, moment?.revision ?? 0]
  const [row] = await run(pastSelect, values)
  return readFound(pricing, wanted, row, readNumbers)
}

function readFound(
  pricing: Pricing,
  wanted: WantedRow[],
  row: TextRow | undefined,
  read: (text: string | null) => Found,
): { found: MatchingRow[]; version: number } {
  const [ids = null, products = null, prices = null, settings, version] = row ?? []
  rejectChanged(pricing, { settings: Number(settings), list: Number(version) })
  const found = foundRows(pricing.list, wanted, {
    ids: read(ids),
    products: read(products),
    prices: read(prices),
  })
  return { found, version: Number(version) }
}

interface KeyColumn {
  name: string
  type: string
  value: (row: WantedRow) => string | number
}

const keyColumns: KeyColumn[] = [
  { name: 'code', type: 'text', value: ({ code }) => code ?? '' },
  { name: 'extension_key', type: 'text', value: ({ extensions }) => extensionKey(extensions) },
  { name: 'dimension', type: 'integer', value: ({ dimension }) => dimension },
]

const dayColumns: KeyColumn[] = [
  ...keyColumns,
  { name: 'month', type: 'date', value: ({ date = '' }) => monthPlace(date).month },
  { name: 'place', type: 'integer', value: ({ date = '' }) => monthPlace(date).place },
]

const columnsOf = ({ is_calendar }: PriceList): KeyColumn[] =>
  is_calendar ? dayColumns : keyColumns

/** The list of a select: $1 and $2. The values of the key columns follow. */
const parameterList = { account_id: sql.raw<number>('$1'), id: sql.raw<number>('$2') }

/** The select for any keys as of a revision: the last value. */
const pastSelect = selectOfPast(sql.raw<number>(`$${keyColumns.length + 3}::integer`))

/** The selects for one key, for keys that differ only in the code (most reads ask for one market), and for any keys. */
const selects = { rows: selectsOf(keyColumns, false), days: selectsOf(dayColumns, true) }

function selectsOf(columns: KeyColumn[], is_calendar: boolean) {
  // The same statement for all lists: what is unpriced is left out, or is 0, once it is read.
  const listRows = publishedRows({ ...parameterList, is_calendar, hide_unpriced: false })
  const price = setPrice(listRows)
  const values = columns.map(({ name, type }, index) =>
    sql.raw(`$${index + 3}::${type} as ${name}`),
  )
  const arrays = columns.map(({ type }, index) => sql.raw(`$${index + 3}::${type}[]`))
  const names = sql.raw(columns.map(({ name }) => name).join(', '))
  const found = sql`
    left join price_list_rows r on r.account_id = $1 and r.price_list_id = $2
      and r.code = input.code and r.extension_key = input.extension_key and ${listRows.isMember}`
  const select = (kind: string, fields: RawBuilder<unknown>, input: RawBuilder<unknown>) =>
    accountSelect(
      `prices_of_${is_calendar ? 'days' : 'rows'}_${kind}`,
      sql`select ${fields}, ${versionColumns(parameterList)} from ${input} ${found}`,
    )
  // Arrays: an object for each row would cost more than finding it.
  const arraysOf = sql`array_agg(r.id order by at)::text as ids, array_agg(r.product_id order by at)::text as products,
    array_agg(${price} order by at)::text as prices`
  return {
    one: select(
      'one',
      sql`r.id, r.product_id, ${price} as price`,
      sql`(select ${sql.join(values)}) as input`,
    ),
    alike: select(
      'alike',
      arraysOf,
      sql`(
      select code, at, ${sql.join(values.slice(1))} from unnest(${arrays[0]}) with ordinality as given (code, at)
    ) as input`,
    ),
    any: select(
      'any',
      arraysOf,
      sql`unnest(${sql.join(arrays)}) with ordinality as input (${names}, at)`,
    ),
  }
}

function selectOfPast(revision: RawBuilder<number>) {
  const isRow = sql`r.account_id = $1 and r.price_list_id = $2 and r.code = input.code
    and r.extension_key = input.extension_key and r.added_version <= ${revision}
    and (r.removed_version is null or r.removed_version > ${revision})`
  const hasRemoved = sql`(select exists (select from removed_rows where account_id = $1 and price_list_id = $2))`
  const columns = sql`product_id, since, prices`
  return accountSelect(
    'prices_of_past_rows',
    sql`
    with recursive found as materialized (
      select at, dimension, r.id, r.product_id, r.since, r.prices[dimension] as price
      from unnest($3::text[], $4::text[], $5::integer[]) with ordinality as input (code, extension_key, dimension, at)
      left join lateral (
        select id, ${columns} from price_list_rows r where ${isRow}
        union all
        select row_id, ${columns} from removed_rows r where ${hasRemoved} and ${isRow}
      ) as r on true
    ), ${pastPrices(parameterList, revision)}
    select array_agg(id order by at)::text as ids, array_agg(product_id order by at)::text as products,
      array_agg(case when since > ${revision} then past.price else found.price end order by at)::text as prices,
      ${versionColumns(parameterList, revision)}
    from found left join past using (at)`,
  )
}

/** A number for each wanted row, null where the list has no such row; also a price is null where none was set. */
type Found = readonly (number | null)[]

function foundRows(
  { hide_unpriced }: PriceList,
  wanted: WantedRow[],
  { ids, products, prices }: Record<'ids' | 'products' | 'prices', Found>,
): MatchingRow[] {
  return wanted.flatMap(({ code, extensions }, at) => {
    const [id = null, product_id, set = null] = [ids[at], products[at] as number, prices[at]]
    if (id === null || (set === null && hide_unpriced)) return []
    const price = set ?? 0
    return { at, id, product_id, code: code as string, extensions: extensions as string[], price }
  })
}
