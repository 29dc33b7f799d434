import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { sql } from 'kysely'
import type { Trx } from '../database/pool.ts'
import { carriageReturn, countOf, newline } from '../lib/line-ends.ts'
import { type Attempt, type CurrentJob, inAttempt, type JobRow } from './attempt.ts'
import { setFinished } from './progress.ts'

/** Small enough that progress moves while a piece is read, large enough that its transaction does not matter. */
const pieceBytes = 256 * 1024
/** As much as arrives from a network at once. */
const sliceBytes = 32 * 1024
/** As long as a file may take to arrive. */
const arrivalSeconds = 3600

const compress = promisify(gzip)
const decompress = promisify(gunzip)

/** A file that is stored for its job. */
export interface StoredFile {
  id: string
  /** How many lines it has, whatever ends them; one in which ends are mixed may have more. */
  lines: number
}

/** Stores the bytes as they come. They stay only when a job that names the file is there at the commit. */
export async function storeFile(
  trx: Trx,
  account: number,
  chunks: AsyncIterable<Buffer>,
): Promise<StoredFile> {
  const id = randomUUID()
  const lines = new LineCount()
  let number = 0
  // Nothing is locked yet, and a client may be slow.
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

/** The bytes of a job's file. Notes with each piece how many rows are read; throws AttemptLost once the job has ended. */
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

/** Those who read ahead count what they get, not its bytes: progress would run late. */
function* inSlices(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += sliceBytes)
    yield bytes.subarray(start, start + sliceBytes)
}

/** Deletes the bytes of a job's file, if it has one. */
export async function deleteFile(trx: Trx, { account_id, id }: CurrentJob): Promise<void> {
  await sql`
    delete from file_pieces where account_id = ${account_id}
      and file_id = (select file_id from jobs where account_id = ${account_id} and id = ${id})`.execute(
    trx,
  )
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

/** Counts lines without reading what is in them. */
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
