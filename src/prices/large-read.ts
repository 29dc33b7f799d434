import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { sql } from 'kysely'
import { type InAccount, Stream } from '../contract/operation.ts'
import { CopyTarget } from '../database/copy.ts'
import type { Trx } from '../database/pool.ts'
import { copiedFields, matchReader } from './copied-rows.ts'
import type { Pricing } from './known-pricings.ts'
import { type Extras, selectAllMatching } from './matching-rows.ts'
import type { WritePriceRow } from './price-rows.ts'
import type { WantedRow } from './wanted-rows.ts'
import { orderBy } from './wildcards.ts'

/** A read with so many rows that they are sent while they are read: by one statement, in constant memory. */
export class LargeRead {
  readonly pricing: Pricing
  readonly wanted: WantedRow[]
  readonly extras: Extras
  readonly write: WritePriceRow

  constructor(pricing: Pricing, wanted: WantedRow[], extras: Extras, write: WritePriceRow) {
    this.pricing = pricing
    this.wanted = wanted
    this.extras = extras
    this.write = write
  }
}

/** A client that takes nothing for so long is let go: others wait for its connection to the database. */
const stalledMs = 30_000

/** Sends the rows of a large read; its transaction lasts as long as the answer. */
export function sendLargeRead(inAccountSending: InAccount, read: LargeRead): Promise<Stream> {
  return new Promise((resolve, reject) => {
    inAccountSending(async (trx) => {
      const chunks = await copyMatching(trx, read)
      const sent = (rows: number) => {
        answer.rows = (answer.rows ?? 0) + rows
      }
      const pieces: Readable = Readable.from(
        untilStalled(writePieces(chunks, read, sent), () =>
          pieces.destroy(new Error('client stalled')),
        ),
      )
      const open = (gone: AbortSignal) => {
        gone.addEventListener('abort', () => pieces.destroy())
        return pieces
      }
      const answer = new Stream('application/json; charset=utf-8', open)
      resolve(answer)
      await finished(pieces)
    }).catch(reject)
  })
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

/** A JSON array of the rows, a piece for each chunk of lines. */
async function* writePieces(
  chunks: AsyncIterable<string>,
  { pricing: { columns }, wanted, extras, write }: LargeRead,
  sent: (rows: number) => void,
): AsyncGenerator<string> {
  const readMatch = matchReader(columns, extras)
  const writeLine = (line: string) => {
    const match = readMatch(line)
    return write(wanted[match.at] as WantedRow, match)
  }
  let separator = '['
  let rest = ''
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    if (lines.length === 0) continue
    yield separator + lines.map(writeLine).join(',')
    separator = ','
    sent(lines.length)
  }
  yield separator === '[' ? '[]' : ']'
}

async function* untilStalled(
  pieces: AsyncIterable<string>,
  stalled: () => void,
): AsyncGenerator<string> {
  for await (const piece of pieces) {
    const timer = setTimeout(stalled, stalledMs)
    yield piece
    clearTimeout(timer)
  }
}
