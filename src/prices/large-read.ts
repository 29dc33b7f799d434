import type { Readable } from 'node:stream'
import { sql } from 'kysely'
import type { InAccount, JsonText, Stream } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import { readStatementMs, tooSlow } from '../contract/read-cost.ts'
import { sendPieces } from '../contract/send-pieces.ts'
import { CopyTarget } from '../database/copy.ts'
import type { Trx } from '../database/pool.ts'
import { nextTurn } from '../lib/cooperative.ts'
import { copiedFields, linesWriter } from './copied-lines.ts'
import { countMatchingRows, fewerRows } from './count-rows.ts'
import { type Extras, selectAllMatching } from './matching-rows.ts'
import { rejectTooLarge, type WritePriceRow } from './price-rows.ts'
import { lookForChanges, type Pricing, PricingChanged } from './pricing.ts'
import type { WantedRow } from './wanted-rows.ts'
import { orderBy } from './wildcards.ts'

/** A read with so many rows that they are sent while they are read: by one statement, in constant memory. */
export class LargeRead {
  readonly pricing: Pricing
  readonly wanted: WantedRow[]
  readonly extras: Extras
  readonly write: WritePriceRow
  /** Whether its rows show nothing but their keys, ids and price. */
  readonly isBare: boolean
  /** Of the list when its rows were bounded. */
  readonly listVersion: number | null
  /** At most how many rows it has. */
  readonly most: number
  readonly rowsMax: number
  /** Of its rows as JSON. */
  readonly bytesMax: number

  constructor(read: Readonly<LargeRead>) {
    this.pricing = read.pricing
    this.wanted = read.wanted
    this.extras = read.extras
    this.write = read.write
    this.isBare = read.isBare
    this.listVersion = read.listVersion
    this.most = read.most
    this.rowsMax = read.rowsMax
    this.bytesMax = read.bytesMax
  }
}

/** A client that takes nothing for so long is let go. */
const stalledMs = 30_000

/** Reads as it was asked for, by what holds in the transaction. */
type ReadAgain = (trx: Trx) => Promise<JsonText | Stream | LargeRead>

/**
 * Sends the rows of a large read; its transaction lasts as long as the answer. It may have waited for its turn: where the
 * pricing that it was planned with holds no longer, or the list has other rows, it is read again, all of one moment.
 */
export function sendLargeRead(
  inAccountSending: InAccount,
  planned: LargeRead,
  readAgain: ReadAgain,
): Promise<JsonText | Stream> {
  return new Promise((resolve, reject) => {
    inAccountSending(async (trx) => {
      const read = (await holds(trx, planned)) ? planned : await readAgain(trx)
      if (!(read instanceof LargeRead)) return resolve(read)
      await sendRows(trx, read, resolve).catch((error) => {
        // Before the rollback: it fails, too, when rows are left on the way, and would hide this error.
        reject(error)
        throw error
      })
    }).catch(reject)
  })
}

async function holds(trx: Trx, { pricing, listVersion }: LargeRead): Promise<boolean> {
  return lookForChanges(trx, pricing).then(
    ({ list }) => list === listVersion,
    (error) => {
      if (error instanceof PricingChanged) return false
      throw error
    },
  )
}

/** Calls `answer` when rows can be sent, and ends when they are, or nobody takes them any more. */
async function sendRows(
  trx: Trx,
  read: LargeRead,
  answer: (stream: Stream) => void,
): Promise<void> {
  const rows = await countRows(trx, read)
  const chunks = await copyMatching(trx, read)
  try {
    const pieces = writePieces(chunks, linesWriter(read))
    const first = await firstOf(pieces, chunks)
    const { bytesMax } = read
    if (!first.done) rejectTooLong(first.value, rows, bytesMax)
    await sendPieces({
      contentType: 'application/json; charset=utf-8',
      stalledMs,
      answer,
      write: (sent) => withinBytes(first, pieces, bytesMax, sent),
    })
  } finally {
    // If the pieces were never read, the rows are still on the way.
    chunks.destroy()
  }
}

/** The first piece. Throws `too-costly` where it takes too long: the rows are sorted before. */
async function firstOf(pieces: AsyncGenerator<Piece, void>, chunks: Readable) {
  const timer = setTimeout(() => chunks.destroy(tooSlow(fewerRows)), readStatementMs)
  try {
    return await pieces.next()
  } finally {
    clearTimeout(timer)
  }
}

/** What a row takes beside its input keys and promotions: code, extensions and names of usual length. */
const usualRowBytes = 1000

/**
 * How many rows a read has, or a bound that is small enough: a count takes half as long as the read.
 * Throws `result-too-large`, `too-costly`.
 */
async function countRows(trx: Trx, read: LargeRead): Promise<number> {
  const { pricing, wanted, extras, most, rowsMax, bytesMax } = read
  const promotionBytes = [...pricing.promotions.names].reduce(
    (sum, name) => sum + name.length + 40,
    0,
  )
  const isShort = !extras.dynamicAttributes && most * (usualRowBytes + promotionBytes) <= bytesMax
  if (most <= rowsMax && isShort) return most
  await sql`set local statement_timeout = ${sql.lit(readStatementMs)}`.execute(trx)
  const count = await countMatchingRows(trx, pricing.list, pricing.columns, wanted)
  await sql`set local statement_timeout to default`.execute(trx)
  rejectTooLarge(count, rowsMax)
  return count
}

/** Throws `result-too-large` for an answer that will be too long if all rows are as long as the first ones. */
function rejectTooLong({ text, rows: written }: Piece, rows: number, bytesMax: number): void {
  const bytes = Math.ceil((Buffer.byteLength(text) / written) * rows)
  if (bytes <= bytesMax) return
  const [has, may] = [bytes, bytesMax].map((value) => Math.ceil(value / 1024 / 1024))
  const fitting = Math.max(Math.floor((rows * bytesMax) / bytes), 1)
  throw new Problem(
    'result-too-large',
    `A read answers at most ${may} MB, the ${rows} rows of this one have about ${has}. Read some ${fitting} at once, or name one \`promotion\` in the rows.`,
  )
}

/** The text of the pieces. Throws, so that the answer breaks off, where rows are much longer than the first ones. */
async function* withinBytes(
  first: IteratorResult<Piece, void>,
  others: AsyncIterable<Piece>,
  bytesMax: number,
  sent: (rows: number) => void,
): AsyncGenerator<string> {
  let bytes = 0
  const take = ({ text, rows }: Piece) => {
    bytes += Buffer.byteLength(text)
    if (bytes > bytesMax)
      throw new Problem('result-too-large', `The answer is longer than ${bytesMax} bytes.`)
    sent(rows)
    return text
  }
  yield first.done ? '[]' : `[${take(first.value)}`
  if (first.done) return
  for await (const piece of others) yield `,${take(piece)}`
  yield ']'
}

/** Some rows as JSON, with commas between them. */
interface Piece {
  text: string
  rows: number
}

async function copyMatching(
  trx: Trx,
  { pricing: { list, columns }, wanted, extras }: LargeRead,
): Promise<Readable> {
  const { rows } = await sql<{ stream: Readable }>`
    copy (
      select ${copiedFields(columns, extras)}
      from (${selectAllMatching(list, columns, wanted, extras)}) as matching ${orderBy(columns, wanted)}
    ) to stdout ${new CopyTarget()}`.execute(trx)
  return (rows[0] as { stream: Readable }).stream.setEncoding('utf8')
}

/** The rows, some lines at a time. */
async function* writePieces(
  chunks: AsyncIterable<string>,
  write: ReturnType<typeof linesWriter>,
): AsyncGenerator<Piece, void> {
  let rest = ''
  for await (const chunk of chunks) {
    const lines = rest + chunk
    const end = lines.lastIndexOf('\n') + 1
    rest = lines.slice(end)
    if (end === 0) continue
    for (const piece of write(lines.slice(0, end))) {
      yield piece
      await nextTurn()
    }
  }
}
