import { onTwoConnections } from '../database/on-two-connections.ts'
import type { Trx } from '../database/pool.ts'
import { nextTurn } from '../lib/cooperative.ts'
import { findExactRows, isExact } from './exact-rows.ts'
import { type HeldRows, rejectTooLarge, type WrittenRows } from './price-rows.ts'
import { lookForChanges, type Pricing } from './pricing.ts'
import type { Read } from './read-prices.ts'
import { readWantedRows } from './wanted-rows.ts'

/**
 * Rows that one statement looks up: while Postgres does, the next are made ready and the last are written. The first are
 * few, so that Postgres begins at once; the more there are later, the closer they lie together in the index.
 */
const firstRows = 500
const rowsAtOnce = 3000

/**
 * The rows of a read that names all of them, and needs no more than their prices; undefined for any other read, and for
 * one that has too much to say to be held. Two connections take turns at its slices.
 */
export async function readPlainRows(
  trx: Trx,
  pricing: Pricing,
  read: Read,
  held: HeldRows,
): Promise<WrittenRows | undefined> {
  if (read.body.payload.length <= firstRows) return readSlices(async () => trx, pricing, read, held)
  return onTwoConnections(trx, read.openBeside, (next) => readSlices(next, pricing, read, held))
}

async function readSlices(
  next: () => Promise<Trx>,
  pricing: Pricing,
  { body, rowsMax, errors }: Read,
  held: HeldRows,
): Promise<WrittenRows | undefined> {
  const { list, columns } = pricing
  const pieces: Promise<string>[] = []
  let size = 0
  for (const slice of slicesOf(errors.sound(body.payload))) {
    if (pieces.length > 0) await nextTurn()
    const wanted = readWantedRows(slice, list, columns, errors)
    if (!wanted.every(isExact)) return endOf(pieces)
    const piece = next()
      .then((trx) => findExactRows(trx, pricing, wanted))
      .then((found) => {
        size += found.length
        return held.write(wanted, found)
      })
    // Its failure is seen when all pieces are waited for.
    piece.catch(() => undefined)
    pieces.push(piece)
  }
  if (errors.count > 0) return endOf(pieces)
  if (pieces.length === 0) await lookForChanges(await next(), pricing)
  const texts = await Promise.all(pieces)
  rejectTooLarge(size, rowsMax)
  return held.areTooLong ? undefined : { texts, rows: size }
}

/** Pieces that are not needed, at their end: the failure of one is not that of whatever statement comes next. */
async function endOf(pieces: Promise<string>[]): Promise<undefined> {
  await Promise.all(pieces)
}

/** Two of each size, for two connections. */
function* slicesOf<T>(rows: readonly T[]): Generator<T[]> {
  for (
    let [from, size] = [0, firstRows];
    from < rows.length;
    size = Math.min(size * 3, rowsAtOnce)
  ) {
    yield rows.slice(from, from + size)
    if (from + size < rows.length) yield rows.slice(from + size, from + size * 2)
    from += size * 2
  }
}
