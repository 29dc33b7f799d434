import type { OpenFeed } from '../../contract/feed.ts'
import type { RequestError } from '../../contract/problem.ts'
import { copyField } from '../../database/copy.ts'
import { collectRowErrors } from '../shape-errors.ts'
import { rejectFaultyIds, takeIds } from './feed-ids.ts'
import type { FileRow } from './feed-rows.ts'
import type { FeedRun } from './run-feed.ts'

/**
 * The sound rows of a batch as COPY text, with their ids, position and line, and what is wrong with the others, in the
 * order of the file. `first` is the position of the first row.
 */
export async function readBatch(
  { findFaults, asBody }: Pick<FeedRun, 'findFaults' | 'asBody'>,
  feed: Pick<OpenFeed, 'read' | 'input' | 'ids'>,
  batch: FileRow[],
  first: number,
): Promise<{ text: string; faults: RequestError[] }> {
  const readable = batch.flatMap((row, index) => (row.fault === undefined ? index : []))
  const values = readable.map((index) => batch[index]?.value)
  const { rows, given } = takeIds(values, feed)
  const body = asBody(rows)
  // All of them: each row of a file that comes back says what is wrong with it.
  const rowErrors = await collectRowErrors(body, findFaults, Number.POSITIVE_INFINITY)
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
    ...batch.flatMap(({ fault, line }, index) => unreadable(fault, first + index, line)),
  ]
  return { text, faults: faults.sort((a, b) => (a.row ?? 0) - (b.row ?? 0)) }
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

function unreadable(fault: string | undefined, row: number, line: number): RequestError[] {
  if (fault === undefined) return []
  return [{ pointer: `/${row}`, row, line, code: 'malformed_row', message: fault }]
}
