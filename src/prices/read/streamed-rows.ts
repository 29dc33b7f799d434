import type { Readable } from 'node:stream'
import { sql } from 'kysely'
import { Answer, type InAccount, type Stream } from '../../contract/operation.ts'
import { Problem } from '../../contract/problem.ts'
import { readStatementMs, tooSlow } from '../../contract/read-cost.ts'
import { answerWhileSending, sendPieces } from '../../contract/send-pieces.ts'
import { CopyTarget } from '../../database/copy.ts'
import type { Trx } from '../../database/pool.ts'
import { yieldToEventLoop } from '../../lib/cooperative.ts'
import { type CopiedRead, copiedFields, linesWriter } from './copied-lines.ts'
import { countMatchingRows, fewerRows } from './count-rows.ts'
import { selectAllMatching } from './matching-rows.ts'
import { type PricesRead, rejectTooLarge } from './price-rows.ts'
import { PricingChanged, readCurrentRevision, shownHeaders } from './pricing.ts'
import { orderBy } from './wildcards.ts'

/** A read of too many rows to hold: they are sent while one statement reads them, in constant memory. */
export interface StreamedRead extends CopiedRead {
  /** The revision of which `most` was counted. */
  revision: number
  /** An upper bound on the number of rows. */
  most: number
  rowsMax: number
  /** The most bytes of the response. */
  bytesMax: number
}

/** A client that reads nothing for this long is disconnected. */
const stalledMs = 30_000

/** Repeats the read in the transaction. */
type ReadAgain = (trx: Trx) => Promise<PricesRead | StreamedRead>

/**
 * Sends the rows of a read; its transaction lasts as long as the response. The read may have waited for a connection:
 * if its pricing is outdated by then, or the list has another revision, it is repeated, so that it sees one moment.
 */
export function sendRows(
  inAccountSending: InAccount,
  planned: StreamedRead,
  readAgain: ReadAgain,
): Promise<PricesRead> {
  return answerWhileSending(inAccountSending, async (trx, answer) => {
    const read = (await isCurrent(trx, planned)) ? planned : await readAgain(trx)
    if (!('wanted' in read)) return answer(read)
    const headers = shownHeaders(read.pricing, read.revision)
    await copyRows(trx, read, (stream) => answer(new Answer(stream, headers)))
  })
}

async function isCurrent(trx: Trx, { pricing, revision }: StreamedRead): Promise<boolean> {
  return readCurrentRevision(trx, pricing).then(
    (current) => current === revision,
    (error) => {
      if (error instanceof PricingChanged) return false
      throw error
    },
  )
}

/** Calls `answer` once rows can be sent. Resolves when all are sent or the client has gone. */
async function copyRows(
  trx: Trx,
  read: StreamedRead,
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
    // Stops the COPY if the pieces were not read to the end.
    chunks.destroy()
  }
}

/** Reads the first piece. Throws `too-costly` if that takes too long: all rows are sorted before it. */
async function firstOf(pieces: AsyncGenerator<Piece, void>, chunks: Readable) {
  const timer = setTimeout(() => chunks.destroy(tooSlow(fewerRows)), readStatementMs)
  try {
    return await pieces.next()
  } finally {
    clearTimeout(timer)
  }
}

/** Bytes of a typical row, without its promotions. */
const usualRowBytes = 1000

/**
 * The number of rows of a read, or an upper bound if that is within the limits: counting takes half as long as the
 * read. Throws `result-too-large`, `too-costly`.
 */
async function countRows(trx: Trx, read: StreamedRead): Promise<number> {
  const { pricing, wanted, extras, most, rowsMax, bytesMax } = read
  const promotionBytes = [...pricing.promotions.names].reduce(
    (sum, name) => sum + name.length + 40,
    0,
  )
  const isShort = !extras.dynamicAttributes && most * (usualRowBytes + promotionBytes) <= bytesMax
  if (most <= rowsMax && isShort) return most
  await sql`set local statement_timeout = ${sql.lit(readStatementMs)}`.execute(trx)
  const count = await countMatchingRows(trx, pricing.rows, pricing.columns, wanted)
  await sql`set local statement_timeout to default`.execute(trx)
  rejectTooLarge(count, rowsMax)
  return count
}

/** Throws `result-too-large` if the response would be too long with all rows as long as those of the first piece. */
function rejectTooLong({ text, rows: written }: Piece, rows: number, bytesMax: number): void {
  const bytes = Math.ceil((Buffer.byteLength(text) / written) * rows)
  if (bytes <= bytesMax) return
  const [has, may] = [bytes, bytesMax].map((value) => Math.ceil(value / 1024 / 1024))
  const fitting = Math.max(Math.floor((rows * bytesMax) / bytes), 1)
  throw new Problem(
    'result-too-large',
    `An answer has at most ${may} MB, the ${rows} rows of this read have about ${has}. Read about ${fitting} rows at a time, or name one \`promotion\` in the rows.`,
  )
}

/** The texts of the pieces. Throws once they exceed the limit, which cuts off the response. */
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
  { pricing: { rows: listRows, columns }, wanted, extras }: StreamedRead,
): Promise<Readable> {
  const { rows } = await sql<{ stream: Readable }>`
    copy (
      select ${copiedFields(columns, extras)}
      from (${selectAllMatching(listRows, columns, wanted, extras)}) as matching ${orderBy(columns, wanted)}
    ) to stdout ${new CopyTarget()}`.execute(trx)
  return (rows[0] as { stream: Readable }).stream.setEncoding('utf8')
}

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
      if (piece.rows > 0) yield piece
      await yieldToEventLoop()
    }
  }
}
