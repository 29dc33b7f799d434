import { mapInTurns } from '../contract/in-turns.ts'
import { JsonText, type Schemas, Stream } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import type { RowErrors } from '../contract/row-errors.ts'
import type { Trx } from '../database/pool.ts'
import { nextTurn } from '../next-turn.ts'
import { promotedPrices } from '../promotions/promoted-prices.ts'
import { boundMatchingRows, countMatchingRows } from './count-rows.ts'
import { findExactRows, isExact } from './exact-rows.ts'
import type { Pricing } from './known-pricings.ts'
import { LargeRead } from './large-read.ts'
import { type Extras, findMatchingRows, type MatchingRow } from './matching-rows.ts'
import { priceRowWriter, type WritePriceRow } from './price-rows.ts'
import { readWantedRows, type WantedRow } from './wanted-rows.ts'

/** A read of prices; rows that are faulty by the pricing go to `errors`. */
export interface Read {
  body: Schemas['GetPricesInput']
  rowsMax: number
  errors: RowErrors
}

/**
 * Rows that one statement looks up: while Postgres does, the next are made ready and the last are written. The first are
 * few, so that Postgres begins at once; the more there are later, the closer they lie together in the index.
 */
const firstRows = 1000
const rowsAtOnce = 4000

/** A read with wildcards that has more rows is sent while it is read. */
const heldRowsMax = 2000

/**
 * The answer to a read, or what is left to do for a large one; undefined if rows are faulty. Throws `result-too-large`
 * for a read that expands to more than `rowsMax` rows.
 */
export async function readPrices(
  trx: Trx,
  pricing: Pricing,
  read: Read,
): Promise<JsonText | Stream | LargeRead | undefined> {
  const include = new Set<string>(read.body.include)
  const extras = {
    costs: include.has('margin'),
    dynamicAttributes: include.has('dynamic_attributes'),
    attributes: pricing.promotions.usesAttributes,
  }
  const priceOf = promotedPrices(pricing.promotions)
  const write = priceRowWriter({ list: pricing.list, columns: pricing.columns, include, priceOf })
  const isPlain = !pricing.list.is_calendar && !Object.values(extras).includes(true)
  const written = isPlain ? await readPlainRows(trx, pricing, read, write) : undefined
  return written ? inPieces(written) : readOtherRows(trx, pricing, read, { extras, write })
}

/** The rows of a read that names all of them, and needs no more than their prices; undefined for any other read. */
async function readPlainRows(
  trx: Trx,
  { list, columns }: Pricing,
  { body, rowsMax, errors }: Read,
  write: WritePriceRow,
): Promise<WrittenRows | undefined> {
  const pieces: Promise<string>[] = []
  let size = 0
  const rows = errors.sound(body.payload)
  for (
    let [from, to] = [0, firstRows];
    from < rows.length;
    [from, to] = [to, Math.min(to * 3, to + rowsAtOnce)]
  ) {
    if (from > 0) await nextTurn()
    const wanted = readWantedRows(rows.slice(from, to), list, columns, errors)
    if (!wanted.every(isExact)) return undefined
    const piece = findExactRows(trx, list, wanted).then((found) => {
      size += found.length
      return writeRows(wanted, found, write)
    })
    // Its failure is seen when all pieces are waited for.
    piece.catch(() => undefined)
    pieces.push(piece)
  }
  if (errors.count > 0) return undefined
  const texts = await Promise.all(pieces)
  if (size > rowsMax) throw tooLarge(rowsMax, size)
  return { texts, rows: size }
}

interface WrittenRows {
  texts: string[]
  rows: number
}

async function readOtherRows(
  trx: Trx,
  pricing: Pricing,
  { body, rowsMax, errors }: Read,
  { extras, write }: { extras: Extras; write: WritePriceRow },
): Promise<JsonText | Stream | LargeRead | undefined> {
  const { list, columns } = pricing
  const wanted = readWantedRows(errors.sound(body.payload), list, columns, errors)
  if (errors.count > 0) return undefined
  const most = await boundMatchingRows(trx, list, wanted, rowsMax)
  if (most > heldRowsMax) {
    // A count takes half as long as the read itself: it is made where the list is not small enough without.
    const count = most > rowsMax ? await countMatchingRows(trx, list, columns, wanted) : most
    if (count > rowsMax) throw tooLarge(rowsMax, count)
    if (count > heldRowsMax) return new LargeRead(pricing, wanted, extras, write)
  }
  const found = await findMatchingRows(trx, list, columns, wanted, extras)
  if (found.length > rowsMax) throw tooLarge(rowsMax, found.length)
  const pieces: string[] = []
  for (let from = 0; from < found.length; from += rowsAtOnce)
    pieces.push(await writeRows(wanted, found.slice(from, from + rowsAtOnce), write))
  return inPieces({ texts: pieces, rows: found.length })
}

async function writeRows(
  wanted: WantedRow[],
  found: MatchingRow[],
  write: WritePriceRow,
): Promise<string> {
  const rows = await mapInTurns(found, (match) => write(wanted[match.at] as WantedRow, match))
  return rows.join(',')
}

/** Sent in pieces, because 100,000 rows are more than should be copied at once. */
function inPieces({ texts, rows }: WrittenRows): JsonText | Stream {
  const pieces = texts.filter((text) => text !== '')
  if (pieces.length <= 4) return new JsonText(`[${pieces.join(',')}]`, rows)
  const open = async function* () {
    for (const [index, piece] of pieces.entries()) {
      yield (index === 0 ? '[' : ',') + piece
      await nextTurn()
    }
    yield ']'
  }
  return new Stream('application/json; charset=utf-8', open, {}, rows)
}

function tooLarge(rowsMax: number, size: number): Problem {
  const detail = `A read expands to at most ${rowsMax} rows, this one to ${size}. Name more of code, extensions and attributes.`
  return new Problem('result-too-large', detail)
}
