import type { RowSchema } from '../contract/document.ts'
import type { Feed, OpenFeed } from '../contract/feed.ts'
import type { FindFaults } from '../contract/incremental-validation.ts'
import { Answer, type Context, type OperationId, type Schemas } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import { listedMax } from '../contract/row-errors.ts'
import {
  bothFaults,
  type StagedFaults,
  stagedFaults,
  stagedFaultsMax,
} from '../contract/staged-faults.ts'
import type { Trx } from '../database/pool.ts'
import {
  allStaged,
  type Contradiction,
  deleteRepeated,
  findRepeated,
  firstOfEachKey,
  stagedRows,
  stageRows,
} from '../database/staging-table.ts'
import { retryingFromHere } from '../database/tenant-transaction.ts'
import { nextTurn } from '../lib/cooperative.ts'
import { readCsv } from './csv.ts'
import { FeedErrors } from './feed-errors.ts'
import { findChangedKeys, idColumns, stagedIds, withIdsOf } from './feed-ids.ts'
import { readNdjson } from './ndjson.ts'
import { readBatch } from './read-batch.ts'
import type { RejectedRows } from './rejected-rows.ts'
import { errorColumn, type FileRows } from './rows.ts'
import { textBlocks } from './text-blocks.ts'

/** One file for one operation. */
export interface FeedRun {
  feed: Feed<OperationId>
  account: number
  // biome-ignore lint/suspicious/noExplicitAny: the query of any operation, validated.
  query: any
  context: Context
  mediaType: string
  bytes: AsyncIterable<Buffer>
  /** Throws when the client has gone or the job has ended. */
  rejectGone: () => void
  schema: RowSchema
  /** The contract's own validator of bodies. */
  findFaults: FindFaults
  /** Puts rows where a JSON body has them. */
  asBody: (rows: unknown[]) => unknown
  /** The job that loads the file; undefined: its request does. */
  job?: number
  /** Told how many rows are read and checked so far. */
  progress: { rows: number }
  /** Takes all rows with what is wrong with them, for those who want their file back. */
  rejected: RejectedRows | undefined
}

/**
 * Reads a file into a table of the transaction, some rows at a time, and writes it whole when no row is bad. Throws
 * `invalid-request` with all bad rows, `malformed-file` where the file cannot be read on, `payload-too-large`.
 */
export async function runFeed(
  trx: Trx,
  run: FeedRun,
): Promise<Schemas['FeedResult'] | Answer<Schemas['JobInfo']>> {
  const opened = await run.feed(trx, run, run.context)
  const errors = new FeedErrors()
  const file = await openFile(run, opened)
  const feed = withIdsOf(opened, file)
  await stageRows(trx, [...feed.input, ...stagedIds(feed)], copyLines(run, feed, file, errors))
  const named = run.rejected?.isKept ? stagedFaultsMax : listedMax
  const repeated = await findRepeated(trx, feed.input, feed.key, named)
  const late = bothFaults(await findLateFaults(feed, repeated), await findChangedKeys(trx, feed))
  errors.addLate(late)
  run.rejected?.end(late.first)
  errors.reject()
  if (repeated) await deleteRepeated(trx, feed.key)
  const staged = stagedRows(trx, feed.key)
  const counts = await retryingFromHere(trx, () => feed.write(staged))
  return counts instanceof Answer ? counts : { rows: run.progress.rows, ...counts }
}

async function openFile(
  { mediaType, bytes, rejectGone, schema, rejected }: FeedRun,
  feed: OpenFeed,
): Promise<FileRows> {
  const ignored = new Set([errorColumn, ...feed.ignored])
  const shape = { schema, columns: [...feed.columns, ...idColumns(feed)], ignored }
  const blocks = textBlocks(whileAwaited(bytes, rejectGone))
  const file = mediaType === 'text/csv' ? await readCsv(blocks, shape) : readNdjson(blocks, shape)
  await rejected?.begin(file.header)
  return file
}

/** Stops reading when the client has gone: what has arrived may take long to read. */
async function* whileAwaited(
  bytes: AsyncIterable<Buffer>,
  rejectGone: () => void,
): AsyncGenerator<Buffer> {
  for await (const chunk of bytes) {
    rejectGone()
    yield chunk
  }
}

/** The rows that are sound as COPY text; what is wrong with the others goes to `errors`. */
async function* copyLines(
  run: FeedRun,
  feed: OpenFeed,
  { batches }: FileRows,
  errors: FeedErrors,
): AsyncGenerator<string> {
  const { progress } = run
  for await (const batch of batches) {
    const first = progress.rows
    progress.rows += batch.length
    rejectTooMany(progress.rows, run.context.limits.feedRowsMax)
    // Each row of a file that comes back says what is wrong with it.
    const listed = run.rejected?.isKept ? Number.POSITIVE_INFINITY : errors.left
    const { text, faults, count } = await readBatch(run, feed, batch, first, listed)
    errors.add(faults, count)
    await run.rejected?.add(batch, faults, first)
    if (text !== '') yield text
    await nextTurn()
  }
}

/** What is wrong once all rows are there. A row that is there again is named again, as in a JSON body. */
async function findLateFaults(
  { key, findFaults }: OpenFeed,
  repeated: Contradiction[] | undefined,
): Promise<StagedFaults> {
  const contradictions = stagedFaults(repeated ?? [], ({ line, firstLine }) => ({
    ...{ field: '', code: 'duplicate_row' },
    message: `lines ${firstLine} and ${line} have the same key and differ`,
  }))
  if (!findFaults) return contradictions
  return bothFaults(contradictions, await findFaults(repeated ? firstOfEachKey(key) : allStaged))
}

function rejectTooMany(rows: number, rowsMax: number): void {
  if (rows <= rowsMax) return
  const detail = `A file takes at most ${rowsMax} rows, this one has more. Send them in several calls. Nothing was written.`
  throw new Problem('payload-too-large', detail)
}
