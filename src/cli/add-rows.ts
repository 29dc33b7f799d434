import { isJob, JobFailed, type PricewellClient, Problem, type Schemas } from '../client/index.ts'
import { readCast } from './extensions.ts'
import { readRows } from './read-rows.ts'
import type { Load, Loaded } from './send-file.ts'
import { openClient } from './session.ts'

/** Below the most that a call takes. */
const rowsAtOnce = 50_000

/** Adds the products of a file to a price list, so many at once, and follows the jobs. Throws a `Problem` with the bad lines. */
export async function addRows({ file, list = '', key, onBytes, ...shared }: Load): Promise<Loaded> {
  const client = openClient(shared)
  const rows = await readRows(file, await readCast(client))
  let isReplayed = rows.length > 0
  for (let from = 0; from < rows.length; from += rowsAtOnce) {
    const slice = rows.slice(from, from + rowsAtOnce)
    const body = { price_list_name: list, payload: slice.map(({ row }) => row) }
    const onRows = (count: number) => onBytes((file.bytes * (from + count)) / rows.length)
    isReplayed =
      (await addSlice(client, body, `${key}-${from}`, onRows).catch((error) => {
        throw withLines(
          error,
          slice.map(({ line }) => line),
        )
      })) && isReplayed
    onRows(slice.length)
  }
  return { rows: rows.length, isReplayed }
}

/** Answers whether it had been done before. A job that failed, when it was asked for before, is asked for anew. */
async function addSlice(
  client: PricewellClient,
  body: Schemas['AddProductsInput'],
  key: string,
  onRows: (count: number) => void,
): Promise<boolean> {
  const { data, response } = await client.POST('/api/v1/prices/bulk_add_products/', {
    params: { header: { 'Idempotency-Key': key } },
    body,
  })
  const isReplayed = response.headers.has('idempotent-replayed')
  if (!isJob(data)) return isReplayed
  try {
    await client.waitForJob(data.id, { onProgress: ({ finished }) => onRows(finished) })
    return isReplayed
  } catch (error) {
    if (!isReplayed || !(error instanceof JobFailed)) throw error
    return addSlice(client, body, `${key}-${data.id}`, onRows)
  }
}

function withLines(error: unknown, lines: number[]): unknown {
  for (const fault of error instanceof Problem ? error.errors : []) {
    const line = fault.row === undefined ? undefined : lines[fault.row]
    if (line !== undefined) fault.line = line
  }
  return error
}
