import { Answer, JsonText, type Schemas, Stream } from '../../contract/operation.ts'
import { Problem } from '../../contract/problem.ts'
import { withinReadTime } from '../../contract/read-cost.ts'
import type { RowErrors } from '../../contract/row-errors.ts'
import type { Trx } from '../../database/pool.ts'
import { yieldToEventLoop } from '../../lib/cooperative.ts'
import { promotedPrices } from '../../promotions/promoted-prices.ts'
import { findClientPrices } from './client-prices.ts'
import { boundMatchingRows, countMatchingRows, fewerRows } from './count-rows.ts'
import { keysAtOnce, type RunSelect, readExactRows, selectIn } from './exact-rows.ts'
import { type LookedUp, loadLookUps, lookedUpFields, rejectMany } from './look-ups.ts'
import { type Extras, findMatchingRows } from './matching-rows.ts'
import {
  HeldRows,
  type LookUp,
  type PricesRead,
  priceRowWriter,
  type RowTexts,
  rejectTooLarge,
  type WritePriceRow,
} from './price-rows.ts'
import type { RowPricing } from './priced-row.ts'
import { type Pricing, readCurrentRevision, shownHeaders } from './pricing.ts'
import type { StreamedRead } from './streamed-rows.ts'
import { readWantedRows } from './wanted-rows.ts'

/** A read of prices. Rows that are faulty under the pricing are reported to `errors`. */
export interface Read {
  body: Schemas['GetPricesInput']
  rowsMax: number
  /** The most bytes of the response. */
  bytesMax: number
  errors: RowErrors
}

/** Rows written without yielding in between. */
const rowsAtOnce = 4000

/** A wildcard read that may have more rows is streamed. The dynamic attributes of a row may take 400 kB. */
const heldMax = ({ dynamicAttributes }: Extras): number => (dynamicAttributes ? 200 : 2000)

/**
 * Reads in one of three ways: exact keys by a look-up, matching rows held in memory, or a StreamedRead that remains to
 * be sent. Returns undefined if rows are faulty. Throws `result-too-large` above `rowsMax` rows, `too-costly` for a
 * read that would visit too many, PricingChanged if the pricing is outdated.
 */
export async function readPrices(
  trx: Trx,
  pricing: Pricing,
  read: Read,
): Promise<PricesRead | StreamedRead | undefined> {
  const shown = shownFields(pricing, read.body)
  const exact = await readExact(selectIn(trx), pricing, read, shown)
  return exact ?? readMatchingRows(trx, pricing, read, shown)
}

/** `readPrices` for a few exact keys, in one round trip; undefined for any other read. */
export async function readFewKeys(
  run: RunSelect,
  pricing: Pricing,
  read: Read,
): Promise<PricesRead | undefined> {
  if (read.body.payload.length > keysAtOnce) return undefined
  return readExact(run, pricing, read, shownFields(pricing, read.body))
}

/** What is read besides the price, and how rows are written. */
interface ShownFields {
  extras: Extras
  write: WritePriceRow
  held: HeldRows
}

function shownFields(
  { list, columns, promotions }: Pricing,
  body: Read['body'],
  lookUp: LookUp & Pick<RowPricing, 'client'> = {},
): ShownFields {
  const include = new Set<string>(body.include)
  const asksOneOf = (...fields: string[]) => fields.some((field) => include.has(field))
  const extras = {
    costs: asksOneOf('margin', 'active_margin', 'explain'),
    dynamicAttributes: include.has('dynamic_attributes'),
    attributes:
      promotions.usesAttributes ||
      asksOneOf('explain', 'lowest_price') ||
      lookUp.client?.agreed.usesAttributes === true,
    priced: asksOneOf('priced', 'competition') || lookUp.client !== undefined,
  }
  const promotedPrice = promotedPrices(promotions)
  const write = priceRowWriter({ list, columns, include, promotedPrice, ...lookUp })
  return { extras, write, held: new HeldRows(write) }
}

async function readExact(
  run: RunSelect,
  pricing: Pricing,
  { body, errors, rowsMax }: Read,
  { extras, held }: ShownFields,
): Promise<PricesRead | undefined> {
  if (
    (pricing.moment && pricing.list.is_calendar) ||
    body.client_code !== undefined ||
    lookedUpFields(body).length > 0 ||
    extras.priced ||
    extras.costs ||
    extras.dynamicAttributes ||
    extras.attributes
  )
    return undefined
  const written = await readExactRows(run, pricing, errors.sound(body.payload), { errors, held })
  if (!written) return undefined
  rejectTooLarge(written.rows, rowsMax)
  return inPieces(pricing, written)
}

async function readMatchingRows(
  trx: Trx,
  known: Pricing,
  asked: Read,
  shown: ShownFields,
): Promise<PricesRead | StreamedRead | undefined> {
  const { body, rowsMax, bytesMax, errors } = asked
  const pricing = body.client_code === undefined ? known : withUnpricedRows(known)
  const { list, columns, rows } = pricing
  const revision = await readCurrentRevision(trx, pricing)
  const wanted = readWantedRows(errors.sound(body.payload), list, columns, errors)
  if (errors.count > 0) return undefined
  const most = await withinReadTime(fewerRows, () => boundMatchingRows(trx, rows, wanted, rowsMax))
  const client = await findClientPrices(trx, pricing, { body, wanted, most })
  const { extras, write, held } = client ? shownFields(pricing, body, { client }) : shown
  const isBare = !body.include?.length && pricing.promotions.names.size === 0 && !client
  const read = { pricing, client, wanted, extras, write, isBare, revision }
  const streamed: StreamedRead = { ...read, most, rowsMax, bytesMax }
  const lookedUp = lookedUpFields(body)
  if (lookedUp.some(({ max }) => most > max)) {
    const count = await countMatchingRows(trx, rows, columns, wanted)
    for (const field of lookedUp) rejectMany(field, count)
  }
  const isLarge = most > heldMax(extras) || most > rowsMax || held.areTooLong
  if (isLarge && lookedUp.length === 0) return streamed
  return (await readHeldRows(trx, streamed, { body, held })) ?? streamed
}

/** Keeps unpriced rows: an agreement may price them, so which to hide is known only once agreements are. */
const withUnpricedRows = (pricing: Pricing): Pricing => ({
  ...pricing,
  rows: { ...pricing.rows, list: { ...pricing.rows.list, hide_unpriced: false } },
})

/** Reads into memory; undefined if the response is too long for that. */
async function readHeldRows(
  trx: Trx,
  read: StreamedRead,
  { body, held }: { body: Read['body']; held: HeldRows },
): Promise<PricesRead | undefined> {
  const { pricing, client, wanted, extras, rowsMax } = read
  const found = await withinReadTime(fewerRows, () =>
    findMatchingRows(trx, pricing.rows, pricing.columns, wanted, extras),
  )
  rejectTooLarge(found.length, rowsMax)
  const lookedUp = lookedUpFields(body)
  const lookUp = await loadLookUps(trx, pricing, body, { wanted, found, client })
  const written =
    lookedUp.length > 0 ? shownFields(pricing, body, { client, ...lookUp }).held : held
  const texts: string[] = []
  for (let from = 0; from < found.length; from += rowsAtOnce)
    texts.push(await written.write(wanted, found.slice(from, from + rowsAtOnce)))
  if (!written.areTooLong)
    return inPieces(pricing, { texts, rows: found.length, revision: read.revision })
  return lookedUp.length > 0 ? rejectLongLookUp(lookedUp) : undefined
}

/** Fields that are looked up are not available while rows are streamed. */
function rejectLongLookUp(lookedUp: LookedUp[]): never {
  const names = lookedUp.map(({ field }) => field).join(' and ')
  const detail = `The answer is too long with ${names}. Send fewer rows.`
  throw new Problem('result-too-large', detail)
}

function inPieces(pricing: Pricing, { texts, rows, revision }: RowTexts): PricesRead {
  return new Answer(asText(texts, rows), shownHeaders(pricing, revision))
}

/**
 * Returns an array from texts of its elements, each with `,` between its own. More than four are sent one by one, without
 * first joining them into one large text.
 */
export function asText(texts: string[], rows: number): JsonText | Stream {
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
