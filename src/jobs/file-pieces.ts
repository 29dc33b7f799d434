import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { sql } from 'kysely'
import type { Trx } from '../database/pool.ts'
import { carriageReturn, countOf, newline } from '../lib/line-ends.ts'
import { type Attempt, inAttempt, type JobRow } from './attempt.ts'
import { setFinished } from './job-row.ts'

/** Small enough for steady progress, large enough to be worth a transaction each. */
const pieceBytes = 256 * 1024
/** About what a network delivers in one read. */
const sliceBytes = 32 * 1024
/** The longest time a file may take to arrive. */
const arrivalSeconds = 3600

const compress = promisify(gzip)
const decompress = promisify(gunzip)

export interface StoredFile {
  id: string
  /** A lower bound on its lines; exact unless the file mixes CR and LF line ends. */
  lines: number
}

/** Stores the bytes as they arrive. The transaction can commit only if a job names the file. */
export async function storeFile(
  trx: Trx,
  account: number,
  chunks: AsyncIterable<Buffer>,
): Promise<StoredFile> {
  const id = randomUUID()
  const lines = new LineCount()
  let number = 0
  // A slow client may take this long, because it holds no locks yet.
  await sql`set local idle_in_transaction_session_timeout = ${sql.lit(`${arrivalSeconds}s`)}`.execute(
    trx,
  )
  for await (const piece of inPieces(chunks)) {
    lines.add(piece)
    const bytes = await compress(piece, { level: 1 })
    await trx
      .insertInto('file_pieces')
      .values({ account_id: account, file_id: id, number: number++, bytes })
      .execute()
  }
  await sql`set local idle_in_transaction_session_timeout to default`.execute(trx)
  return { id, lines: lines.count }
}

/** Yields a job's file; records the rows read with each piece. Throws AttemptLost once the job has ended. */
export async function* readFile(
  attempt: Attempt,
  { file_id }: JobRow,
  rowsRead: () => number,
): AsyncGenerator<Buffer> {
  for (let number = 0; ; number++) {
    const piece = await inAttempt(attempt, async (trx, job) => {
      await setFinished(trx, job, rowsRead())
      return trx
        .selectFrom('file_pieces')
        .select('bytes')
        .where('account_id', '=', job.account_id)
        .where('file_id', '=', file_id)
        .where('number', '=', number)
        .executeTakeFirst()
    })
    if (!piece) return
    yield* inSlices(await decompress(piece.bytes))
  }
}

/** Parsers read ahead by a chunk: if chunks were whole pieces, the reported progress would lag. */
function* inSlices(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += sliceBytes)
    yield bytes.subarray(start, start + sliceBytes)
}

async function* inPieces(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const piece = Buffer.allocUnsafe(pieceBytes)
  let filled = 0
  for await (const chunk of chunks) {
    for (let start = 0; start < chunk.length; ) {
      const copied = chunk.copy(piece, filled, start)
      start += copied
      filled += copied
      if (filled < pieceBytes) continue
      yield piece
      filled = 0
    }
  }
  if (filled > 0) yield piece.subarray(0, filled)
}

class LineCount {
  #newlines = 0
  #carriageReturns = 0
  #last: number | undefined

  add(bytes: Buffer): void {
    this.#newlines += countOf(bytes, newline)
    this.#carriageReturns += countOf(bytes, carriageReturn)
    this.#last = bytes.at(-1)
  }

  get count(): number {
    const isEnded = [undefined, newline, carriageReturn].includes(this.#last)
    return Math.max(this.#newlines, this.#carriageReturns) + (isEnded ? 0 : 1)
  }
}
