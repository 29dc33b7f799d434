import { JsonText, type Schemas, Stream } from '../../contract/operation.ts'
import { withinReadTime } from '../../contract/read-cost.ts'
import type { RowErrors } from '../../contract/row-errors.ts'
import type { Trx } from '../../database/pool.ts'
import { yieldToEventLoop } from '../../lib/cooperative.ts'
import { promotedPrices } from '../../promotions/promoted-prices.ts'
import { boundMatchingRows, fewerRows } from './count-rows.ts'
import { keysAtOnce, type RunSelect, readExactRows, selectIn } from './exact-rows.ts'
import { type Extras, findMatchingRows } from './matching-rows.ts'
import {
  HeldRows,
  priceRowWriter,
  rejectTooLarge,
  type WritePriceRow,
  type WrittenRows,
} from './price-rows.ts'
import { lookForChanges, type Pricing } from './pricing.ts'
import type { StreamedRead } from './streamed-rows.ts'
import { readWantedRows } from './wanted-rows.ts'

/** A read of prices. Rows that are faulty by the pricing go to `errors`. */
export interface Read {
  body: Schemas['GetPricesInput']
  rowsMax: number
  /** Of the answer. */
  bytesMax: number
  errors: RowErrors
}

/** Rows written without yielding in between. */
const rowsAtOnce = 4000

/** A read with wildcards that may have more rows is streamed. The dynamic attributes of a row may have 400 kB. */
const heldMax = ({ dynamicAttributes }: Extras): number => (dynamicAttributes ? 200 : 2000)

/**
 * Answers a read in one of three ways: exact keys by a look-up, matching rows held in memory, or a StreamedRead, which
 * remains to be sent. Undefined if rows are faulty. Throws `result-too-large` for a read of more than `rowsMax` rows,
 * `too-costly` for one that would look at too many, PricingChanged when the pricing is outdated.
 */
export async function readPrices(
  trx: Trx,
  pricing: Pricing,
  read: Read,
): Promise<JsonText | Stream | StreamedRead | undefined> {
  const shown = shownRows(pricing, read.body)
  const exact = await readExact(selectIn(trx), pricing, read, shown)
  return exact ?? readMatchingRows(trx, pricing, read, shown)
}

/** `readPrices` for few exact keys, in one round trip; undefined for any other read. */
export async function readFewKeys(
  run: RunSelect,
  pricing: Pricing,
  read: Read,
): Promise<JsonText | Stream | undefined> {
  if (read.body.payload.length > keysAtOnce) return undefined
  return readExact(run, pricing, read, shownRows(pricing, read.body))
}

/** What is read beside the price, and how rows are written. */
interface ShownRows {
  extras: Extras
  write: WritePriceRow
  held: HeldRows
}

function shownRows({ list, columns, promotions }: Pricing, body: Read['body']): ShownRows {
  const include = new Set<string>(body.include)
  const extras = {
    costs: include.has('margin') || include.has('active_margin'),
    dynamicAttributes: include.has('dynamic_attributes'),
    attributes: promotions.usesAttributes,
  }
  const write = priceRowWriter({ list, columns, include, priceOf: promotedPrices(promotions) })
  return { extras, write, held: new HeldRows(write) }
}

async function readExact(
  run: RunSelect,
  pricing: Pricing,
  { body, errors, rowsMax }: Read,
  { extras, held }: ShownRows,
): Promise<JsonText | Stream | undefined> {
  if (extras.costs || extras.dynamicAttributes || extras.attributes) return undefined
  const written = await readExactRows(run, pricing, errors.sound(body.payload), { errors, held })
  if (!written) return undefined
  rejectTooLarge(written.rows, rowsMax)
  return inPieces(written)
}

async function readMatchingRows(
  trx: Trx,
  pricing: Pricing,
  { body, rowsMax, bytesMax, errors }: Read,
  { extras, write, held }: ShownRows,
): Promise<JsonText | Stream | StreamedRead | undefined> {
  const { list, columns } = pricing
  const { list: listVersion } = await lookForChanges(trx, pricing)
  const wanted = readWantedRows(errors.sound(body.payload), list, columns, errors)
  if (errors.count > 0) return undefined
  const isBare = !body.include?.length && pricing.promotions.names.size === 0
  const most = await withinReadTime(fewerRows, () => boundMatchingRows(trx, list, wanted, rowsMax))
  const read = { pricing, wanted, extras, write, isBare, listVersion }
  const streamed: StreamedRead = { ...read, most, rowsMax, bytesMax }
  if (most > heldMax(extras) || most > rowsMax || held.areTooLong) return streamed
  const found = await withinReadTime(fewerRows, () =>
    findMatchingRows(trx, list, columns, wanted, extras),
  )
  rejectTooLarge(found.length, rowsMax)
  const texts: string[] = []
  for (let from = 0; from < found.length; from += rowsAtOnce)
    texts.push(await held.write(wanted, found.slice(from, from + rowsAtOnce)))
  return held.areTooLong ? streamed : inPieces({ texts, rows: found.length })
}

/** More than four pieces are sent one by one, without joining them to one large text first. */
function inPieces({ texts, rows }: WrittenRows): JsonText | Stream {
  const pieces = texts.filter((text) => text !== '')
  if (pieces.length <= 4) return new JsonText(`[${pieces.join(',')}]`, rows)
  const open = async function* () {
    for (const [index, piece] of pieces.entries()) {
      yield (index === 0 ? '[' : ',') + piece
      await yieldToEventLoop()
    }
    yield ']'
  }
  const heldBytes = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0)
  return new Stream('application/json; charset=utf-8', open, rows, heldBytes)
}
