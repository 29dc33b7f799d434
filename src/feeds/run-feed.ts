import { hasPayload, type Operation, readRowSchema } from '../contract/document.ts'
import type { FeedDone, OpenFeed } from '../contract/feed.ts'
import { Answer, type Context, type Origin, type Schemas } from '../contract/operation.ts'
import { Problem, type RequestError, unavailable } from '../contract/problem.ts'
import { listedMax, sentences } from '../contract/row-errors.ts'
import {
  bothFaults,
  SliceErrors,
  type StagedFaults,
  stagedFaults,
  stagedFaultsMax,
} from '../contract/staged-faults.ts'
import { bodyCheck } from '../contract/validation.ts'
import { collectRowErrors } from '../contract/validation-errors.ts'
import { ValueFault } from '../contract/value-faults.ts'
import { copyField } from '../database/copy.ts'
import { analyzeLoaded } from '../database/planner.ts'
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
import { shareTable } from '../database/table-lock.ts'
import { retryingFromHere } from '../database/tenant-transaction.ts'
import { yieldToEventLoop } from '../lib/cooperative.ts'
import { readCsv } from './csv.ts'
import {
  findChangedKeys,
  idColumns,
  rejectFaultyIds,
  stagedIds,
  takeIds,
  withIdsOf,
} from './feed-ids.ts'
import { operationFeed } from './feeds.ts'
import { readNdjson } from './ndjson.ts'
import { type RejectedRows, sourceColumn } from './rejected-rows.ts'
import { errorColumn, type FileRow, type FileRows } from './rows.ts'
import { textBlocks } from './text-blocks.ts'

/** A file, and the operation that loads it. */
export interface FeedRun {
  operation: Operation
  account: number
  // biome-ignore lint/suspicious/noExplicitAny: the query of any operation, validated.
  query: any
  context: Context
  mediaType: string
  bytes: AsyncIterable<Buffer>
  /** Throws if the client has disconnected or the job has ended. */
  rejectGone: () => void
  /** The job that loads the file; undefined for a request. */
  job?: number
  origin: Origin
  /** How many rows have been read and checked. */
  progress: { rows: number }
  /** Collects the rejected rows, for a client that accepts a file. */
  rejected: RejectedRows | undefined
}

/**
 * Copies a file batch by batch into a staging table, then writes all of it if no row is bad. Throws `invalid-request`
 * with the bad rows, `malformed-file` if the file cannot be read to its end, `payload-too-large`, and `unavailable` if
 * columns changed meanwhile.
 */
export async function runFeed(
  trx: Trx,
  run: FeedRun,
): Promise<FeedDone | Answer<Schemas['JobInfo'] | Schemas['Plan']>> {
  const opened = await operationFeed(run.operation)(trx, run, run.context)
  const errors = new SliceErrors()
  const file = await openFile(run, opened)
  const feed = withIdsOf(opened, file)
  const columns = [...feed.input, ...stagedIds(feed), ...(run.rejected ? [sourceColumn] : [])]
  await stageRows(trx, columns, copyLines(run, feed, file, errors)).catch((fault) => {
    throw errors.withEarlier(fault)
  })
  const named = run.rejected ? stagedFaultsMax : listedMax
  const repeated = await findRepeated(trx, feed.input, feed.key, named)
  const late = bothFaults(await findLateFaults(feed, repeated), await findChangedKeys(trx, feed))
  errors.addLate(late)
  await run.rejected?.addStaged(trx, late.first)
  errors.reject()
  if (repeated) await deleteRepeated(trx, feed.key)
  if ((await feed.hold?.()) === false)
    throw unavailable('The columns changed while the file was read; send it again.')
  if (feed.table) await shareTable(trx, feed.table, run.account)
  const write = () => feed.write(stagedRows(trx, feed.key))
  const counts = await retryingFromHere(trx, write).catch(async (refusal) => {
    await run.rejected?.addRefused(trx, refusal)
    throw refusal
  })
  if (counts instanceof Answer) return counts
  const { rows } = run.progress
  if (feed.table) await analyzeLoaded(trx, { table: feed.table, owner: run.account, rows })
  const { revision, ...result } = counts
  return { result: { rows, ...result }, revision }
}

async function openFile(
  { operation, mediaType, bytes, rejectGone, rejected }: FeedRun,
  feed: OpenFeed,
): Promise<FileRows> {
  const ignored = new Set([errorColumn, ...feed.ignored])
  const columns = [...feed.columns, ...idColumns(feed)]
  const shape = { schema: readRowSchema(operation), columns, ignored }
  const blocks = textBlocks(whileAwaited(bytes, rejectGone))
  const file = mediaType === 'text/csv' ? await readCsv(blocks, shape) : readNdjson(blocks, shape)
  rejected?.begin(file.header)
  return file
}

/** Stops reading if the client disconnects: it may take long to read what has arrived. */
async function* whileAwaited(
  bytes: AsyncIterable<Buffer>,
  rejectGone: () => void,
): AsyncGenerator<Buffer> {
  for await (const chunk of bytes) {
    rejectGone()
    yield chunk
  }
}

/** Yields the sound rows as COPY text; errors of the others go to `errors`. */
async function* copyLines(
  run: FeedRun,
  feed: OpenFeed,
  { batches }: FileRows,
  errors: SliceErrors,
): AsyncGenerator<string> {
  for await (const batch of batches) {
    const first = run.progress.rows
    run.progress.rows += batch.length
    rejectTooMany(run.progress.rows, run.context.limits.feedRowsMax)
    // A rejected row carries all of its errors.
    const listed = run.rejected?.isFull === false ? Number.POSITIVE_INFINITY : errors.left
    const { text, faults, count } = await readBatch(run, feed, batch, first, listed)
    errors.add(faults, count)
    run.rejected?.add(batch, faults, first)
    if (text !== '') yield text
    await yieldToEventLoop()
  }
}

/** Finds faults that show only once all rows are staged. A repeated row has its own fault, as in a JSON body. */
async function findLateFaults(
  { key, findFaults }: OpenFeed,
  repeated: Contradiction[] | undefined,
): Promise<StagedFaults> {
  const contradictions = stagedFaults(repeated ?? [], ({ line, firstLine }) => ({
    field: '',
    code: 'duplicate_row',
    message: sentences.sameKey(`lines ${firstLine} and ${line}`),
  }))
  if (!findFaults) return contradictions
  return bothFaults(contradictions, await findFaults(repeated ? firstOfEachKey(key) : allStaged))
}

function rejectTooMany(rows: number, rowsMax: number): void {
  if (rows <= rowsMax) return
  const detail = `A file takes at most ${rowsMax} rows, this one has more. Send them in several calls. Nothing was written.`
  throw new Problem('payload-too-large', detail)
}

export interface ReadRows {
  /** The sound rows as COPY text, with ids, position and line. */
  text: string
  /** The first faults of the others, in the order of the file. */
  faults: RequestError[]
  /** The number of all faults. */
  count: number
}

/** Reads a batch whose first row has the position `first`. Keeps the first `listed` faults, and counts all. */
async function readBatch(
  { operation, rejected }: Pick<FeedRun, 'operation' | 'rejected'>,
  feed: Pick<OpenFeed, 'read' | 'input' | 'ids' | 'isSkipped'>,
  batch: FileRow[],
  first: number,
  listed: number,
): Promise<ReadRows> {
  const readable = batch.flatMap(({ value }, index) =>
    value instanceof ValueFault || feed.isSkipped?.(value) ? [] : index,
  )
  const values = readable.map((index) => batch[index]?.value)
  const { rows, given } = takeIds(values, feed)
  // The query names the list, but the contract wants a name beside the rows.
  const body = hasPayload(operation) ? { price_list_name: 'list', payload: rows } : rows
  const rowErrors = await collectRowErrors(body, bodyCheck(operation), listed)
  rejectFaultyIds(given, feed, rowErrors)
  let text = ''
  for (const { row, position } of await feed.read(rows, rowErrors)) {
    const index = readable[position] as number
    for (const { value } of feed.input) text += `${copyField(value(row))}\t`
    for (const id of given[position] ?? []) text += `${copyField(id as string | number | null)}\t`
    const { line, source } = batch[index] as FileRow
    if (rejected) text += `${copyField(rejected.textOf(source))}\t`
    text += `${first + index}\t${line}\n`
  }
  const unreadable = unreadableRows(batch, first)
  const faults = [
    ...rowErrors.all().map((error) => {
      const index = readable[error.row ?? 0] as number
      return placed(error, first + index, batch[index]?.line ?? 0)
    }),
    ...unreadable.slice(0, listed),
  ]
  const count = rowErrors.count + unreadable.length
  return { text, faults: faults.sort((a, b) => (a.row ?? 0) - (b.row ?? 0)), count }
}

/** The error with its row and line in the file; the pointer is that of the same row in a JSON array. */
function placed(
  { pointer, field, code, message }: RequestError,
  row: number,
  line: number,
): RequestError {
  const inRow = pointer.replace(/^(?:\/payload)?\/\d+/, '')
  return {
    pointer: `/${row}${inRow}`,
    row,
    line,
    ...(field !== undefined && { field }),
    code,
    message,
  }
}

/** The errors of rows that cannot be read. */
function unreadableRows(batch: FileRow[], first: number): RequestError[] {
  return batch.flatMap(({ value, line }, index) => {
    if (!(value instanceof ValueFault)) return []
    const row = first + index
    const message = value.reason
    return { pointer: `/${row}`, row, line, code: 'malformed_row' as const, message }
  })
}
