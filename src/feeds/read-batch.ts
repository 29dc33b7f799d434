import type { OpenFeed } from '../contract/feed.ts'
import { ValueFault } from '../contract/json-value.ts'
import type { RequestError } from '../contract/problem.ts'
import { collectRowErrors } from '../contract/validation-errors.ts'
import { copyField } from '../database/copy.ts'
import { rejectFaultyIds, takeIds } from './feed-ids.ts'
import type { FileRow } from './rows.ts'
import type { FeedRun } from './run-feed.ts'

/** Some rows of a file. */
export interface ReadRows {
  /** The sound ones as COPY text, with their ids, position and line. */
  text: string
  /** What is wrong with the others, in the order of the file: as many as are listed. */
  faults: RequestError[]
  /** How many faults there are. */
  count: number
}

/** Reads a batch whose first row is at the position `first`. Of what is wrong the first `listed` are worded. */
export async function readBatch(
  { findFaults, asBody }: Pick<FeedRun, 'findFaults' | 'asBody'>,
  feed: Pick<OpenFeed, 'read' | 'input' | 'ids'>,
  batch: FileRow[],
  first: number,
  listed: number,
): Promise<ReadRows> {
  const readable = batch.flatMap(({ value }, index) => (value instanceof ValueFault ? [] : index))
  const values = readable.map((index) => batch[index]?.value)
  const { rows, given } = takeIds(values, feed)
  const body = asBody(rows)
  const rowErrors = await collectRowErrors(body, findFaults, listed)
  rejectFaultyIds(given, feed, rowErrors)
  let text = ''
  for (const { row, position } of await feed.read(rows, rowErrors)) {
    const index = readable[position] as number
    for (const { value } of feed.input) text += `${copyField(value(row))}\t`
    for (const id of given[position] ?? []) text += `${copyField(id as string | number | null)}\t`
    text += `${first + index}\t${batch[index]?.line}\n`
  }
  const faults = [
    ...rowErrors.all().map((error) => {
      const index = readable[error.row ?? 0] as number
      return placed(error, first + index, batch[index]?.line ?? 0)
    }),
    ...unreadableRows(batch, first, listed),
  ]
  const count = rowErrors.count + batch.length - readable.length
  return { text, faults: faults.sort((a, b) => (a.row ?? 0) - (b.row ?? 0)), count }
}

/** The error at its place in the file; the pointer is that of the same rows in a JSON array. */
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

/** The first rows that cannot be read, as many as are listed. */
function unreadableRows(batch: FileRow[], first: number, listed: number): RequestError[] {
  const errors: RequestError[] = []
  for (const [index, { value, line }] of batch.entries()) {
    if (errors.length >= listed) break
    if (!(value instanceof ValueFault)) continue
    const row = first + index
    errors.push({ pointer: `/${row}`, row, line, code: 'malformed_row', message: value.reason })
  }
  return errors
}
