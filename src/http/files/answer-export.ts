import { type ControlledTransaction, sql } from 'kysely'
import type { DB } from '../../../generated/database.d.ts'
import type { Export, OpenExport } from '../../contract/export.ts'
import { type OperationId, Stream } from '../../contract/operation.ts'
import { beginInAccount } from '../../database/in-account.ts'
import type { Database } from '../../database/pool.ts'
import { rowWriter } from './file-text.ts'

/** Read and written in about 10 ms; then other requests get their turn. */
const rowsAtOnce = 2000

/** One read that is answered as a file. */
export interface ExportCall {
  db: Database
  export: Export<OperationId>
  account: number
  // biome-ignore lint/suspicious/noExplicitAny: of any operation, validated.
  params: any
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  query: any
  mediaType: string
}

/**
 * Answers everything that matches, as of one moment, as fast as the client takes it. What is wrong with the request is
 * thrown before the answer begins.
 */
export async function answerExport({ db, mediaType, ...call }: ExportCall): Promise<Stream> {
  const trx = await beginInAccount(db, call.account)
  try {
    const opened = await call.export(trx, call)
    await sql`declare export no scroll cursor for ${opened.query}`.execute(trx)
    return new Stream(`${mediaType}; charset=utf-8`, (gone) => {
      gone.addEventListener('abort', () => void end(trx))
      return textOf(trx, opened, mediaType)
    })
  } catch (error) {
    await end(trx)
    throw error
  }
}

async function* textOf(
  trx: ControlledTransaction<DB>,
  { columns, rowsOf }: OpenExport,
  mediaType: string,
): AsyncGenerator<string> {
  const { header, line } = rowWriter(mediaType, columns)
  yield header
  for (;;) {
    const { rows } = await sql`fetch ${sql.lit(rowsAtOnce)} from export`.execute(trx)
    if (rows.length === 0) break
    yield rows.flatMap((stored) => rowsOf(stored).map(line)).join('')
  }
  await end(trx)
}

/** A connection that is broken has nothing to end, and is given back all the same. */
async function end(trx: ControlledTransaction<DB>): Promise<void> {
  if (trx.isCommitted || trx.isRolledBack) return
  const ended = trx.rollback().execute()
  await ended.catch(() => undefined)
}
