import { CompiledQuery } from 'kysely'
import type { Positioned } from '../../contract/duplicates.ts'
import type { Schemas } from '../../contract/operation.ts'
import type { RowErrors } from '../../contract/row-errors.ts'
import type { AccountSelect, TextRow } from '../../database/account-select.ts'
import { arrayLiteral, readNullable } from '../../database/array-literal.ts'
import type { Trx } from '../../database/pool.ts'
import { yieldToEventLoop } from '../../lib/cooperative.ts'
import type { PriceList } from '../../price-lists/queries.ts'
import { columnsOf, keyColumns, selectOfPast, selects } from './exact-selects.ts'
import type { MatchingRow } from './matching-rows.ts'
import type { HeldRows, RowTexts } from './price-rows.ts'
import { currentRevision, type Pricing } from './pricing.ts'
import { isExact, readWantedRows, type WantedRow } from './wanted-rows.ts'

/** Keys per statement: while PostgreSQL looks them up, the next ones are checked and the previous ones are written. */
export const keysAtOnce = 1000

/**
 * Reads rows that are all exact. Returns undefined if there are none, if a row has a wildcard or is faulty, or if the
 * response is too long to hold. Throws PricingChanged.
 */
export async function readExactRows(
  run: RunSelect,
  pricing: Pricing,
  rows: readonly Positioned<Schemas['GetPricesRow']>[],
  { errors, held }: { errors: RowErrors; held: HeldRows },
): Promise<RowTexts | undefined> {
  const pieces: Promise<string>[] = []
  let count = 0
  let revision = 0
  for (let from = 0; from < rows.length; from += keysAtOnce) {
    if (from > 0) await yieldToEventLoop()
    const slice = rows.slice(from, from + keysAtOnce)
    const wanted = readWantedRows(slice, pricing.list, pricing.columns, errors)
    if (errors.count > 0 || !wanted.every(isExact)) return endOf(pieces)
    const find = pricing.moment ? findPastRows : findPresentRows
    const piece = find(run, pricing, wanted).then(({ found, revision: shown }) => {
      count += found.length
      revision = shown
      return held.write(wanted, found)
    })
    // Its failure is seen below, where all pieces are awaited.
    piece.catch(() => undefined)
    pieces.push(piece)
  }
  const texts = await Promise.all(pieces)
  return rows.length === 0 || held.areTooLong ? undefined : { texts, rows: count, revision }
}

/** Awaits pieces that are no longer needed, so that their failure is not mistaken for the next statement's. */
async function endOf(pieces: Promise<string>[]): Promise<undefined> {
  await Promise.all(pieces)
}

/** Runs a SELECT of the account, in a transaction or in a round trip of its own. */
export type RunSelect = (select: AccountSelect, values: (string | number)[]) => Promise<TextRow[]>

/** Runs SELECTs in a transaction, for a read of several statements. */
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

/** Finds the rows with these keys, in their order, and the revision shown. Throws PricingChanged. */
type FindRows = (
  run: RunSelect,
  pricing: Pricing,
  wanted: WantedRow[],
) => Promise<{ found: MatchingRow[]; revision: number }>

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
    kind === 'one' ? (text: string | null) => [text === null ? null : Number(text)] : readNullable
  return readFound(pricing, wanted, row, read)
}

const findPastRows: FindRows = async (run, pricing, wanted) => {
  const { list, moment } = pricing as PastPricing
  const given = keyColumns.map(({ value }) => arrayLiteral(wanted.map(value)))
  const values = [list.account_id, list.id, ...given, moment.revision]
  const [row] = await run(selectOfPast(list, moment.walk, wanted.length), values)
  return readFound(pricing, wanted, row, readNullable)
}

type PastPricing = Pricing & Required<Pick<Pricing, 'moment'>>

function readFound(
  pricing: Pricing,
  wanted: WantedRow[],
  row: TextRow | undefined,
  read: (text: string | null) => Found,
): { found: MatchingRow[]; revision: number } {
  const [ids = null, products = null, prices = null, settings, version] = row ?? []
  const revision = currentRevision(pricing, { settings: Number(settings), list: Number(version) })
  const found = foundRows(pricing.list, wanted, {
    ids: read(ids),
    products: read(products),
    prices: read(prices),
  })
  return { found, revision }
}

/** A number for each wanted row; null if the list lacks the row or, for prices, if none was set. */
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
