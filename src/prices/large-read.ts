import type { Readable } from 'node:stream'
import { sql } from 'kysely'
import type { InAccount, JsonText, Stream } from '../contract/operation.ts'
import { sendPieces } from '../contract/send-pieces.ts'
import { CopyTarget } from '../database/copy.ts'
import type { Trx } from '../database/pool.ts'
import { nextTurn } from '../next-turn.ts'
import { linesWriter } from './copied-lines.ts'
import { copiedFields } from './copied-rows.ts'
import type { Pricing } from './known-pricings.ts'
import { type Extras, selectAllMatching } from './matching-rows.ts'
import type { WritePriceRow } from './price-rows.ts'
import { lookForChanges, PricingChanged } from './pricing-changes.ts'
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
  /** Of the list when its rows were counted. */
  readonly listVersion: number | null

  constructor({ pricing, wanted, extras, write, isBare, listVersion }: Readonly<LargeRead>) {
    this.pricing = pricing
    this.wanted = wanted
    this.extras = extras
    this.write = write
    this.isBare = isBare
    this.listVersion = listVersion
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
      if (read instanceof LargeRead) await sendRows(trx, read, resolve)
      else resolve(read)
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
  const chunks = await copyMatching(trx, read)
  await sendPieces({
    ...{ contentType: 'application/json; charset=utf-8', stalledMs, answer },
    write: (sent) => writePieces(chunks, linesWriter(read), sent),
  })
  // Pieces that nobody has begun to read leave the rows where they are.
  chunks.destroy()
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

/** A JSON array of the rows, in pieces of some lines each. */
async function* writePieces(
  chunks: AsyncIterable<string>,
  write: ReturnType<typeof linesWriter>,
  sent: (rows: number) => void,
): AsyncGenerator<string> {
  let separator = '['
  let rest = ''
  for await (const chunk of chunks) {
    const lines = rest + chunk
    const end = lines.lastIndexOf('\n') + 1
    rest = lines.slice(end)
    if (end === 0) continue
    for (const { text, rows } of write(lines.slice(0, end))) {
      yield separator + text
      separator = ','
      sent(rows)
      await nextTurn()
    }
  }
  yield separator === '[' ? '[]' : ']'
}
