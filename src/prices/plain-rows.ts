import type { Trx } from '../database/pool.ts'
import { nextTurn } from '../lib/cooperative.ts'
import { findExactRows, isExact } from './exact-rows.ts'
import { type HeldRows, rejectTooLarge, type WrittenRows } from './price-rows.ts'
import { lookForChanges, type Pricing } from './pricing.ts'
import type { Read } from './read-prices.ts'
import { readWantedRows } from './wanted-rows.ts'

/** Keys of one statement: while Postgres looks them up, the next are read and the last are written. */
const keysAtOnce = 500

/**
 * The rows of a read that names all of them, and needs no more than their prices; undefined for any other read, and for
 * one whose answer is too long to be held.
 */
export async function readPlainRows(
  trx: Trx,
  pricing: Pricing,
  { body, rowsMax, errors }: Read,
  held: HeldRows,
): Promise<WrittenRows | undefined> {
  const { list, columns } = pricing
  const pieces: Promise<string>[] = []
  let size = 0
  const sound = errors.sound(body.payload)
  for (let from = 0; from < sound.length; from += keysAtOnce) {
    if (pieces.length > 0) await nextTurn()
    const wanted = readWantedRows(sound.slice(from, from + keysAtOnce), list, columns, errors)
    if (!wanted.every(isExact)) return endOf(pieces)
    const piece = findExactRows(trx, pricing, wanted).then((found) => {
      size += found.length
      return held.write(wanted, found)
    })
    // Its failure is seen when all pieces are waited for.
    piece.catch(() => undefined)
    pieces.push(piece)
  }
  if (errors.count > 0) return endOf(pieces)
  if (pieces.length === 0) await lookForChanges(trx, pricing)
  const texts = await Promise.all(pieces)
  rejectTooLarge(size, rowsMax)
  return held.areTooLong ? undefined : { texts, rows: size }
}

/** Pieces that are not needed, at their end: the failure of one is not that of whatever statement comes next. */
async function endOf(pieces: Promise<string>[]): Promise<undefined> {
  await Promise.all(pieces)
}
