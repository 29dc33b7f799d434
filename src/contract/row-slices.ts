import { type FindFaults, rowsOf } from './incremental-validation.ts'
import { SlicedJson } from './json.ts'
import type { RowSlice, RowSlices } from './operation.ts'
import { listedMax, RowErrors } from './row-errors.ts'
import { collectRowErrors } from './validation-errors.ts'

/**
 * Returns the slices of a body. A parsed body is a single slice, validated immediately: throws `invalid-request` for
 * errors outside the rows.
 */
export async function sliceRows(body: unknown, findFaults: FindFaults): Promise<RowSlices> {
  if (body instanceof SlicedJson)
    return {
      bytes: body.bytes,
      errors: new RowErrors(''),
      read: (left) => validated(body, findFaults, left),
    }
  const errors = await collectRowErrors(body, findFaults, listedMax)
  return {
    bytes: 0,
    errors,
    async *read() {
      yield { rows: body as unknown[], errors }
    },
  }
}

async function* validated(
  body: SlicedJson,
  findFaults: FindFaults,
  left: () => number,
): AsyncGenerator<RowSlice> {
  let first = 0
  for await (const rows of body.rowSlices()) {
    yield { rows, errors: await collectRowErrors(rows, findFaults, left(), first) }
    first += rows.length
  }
}

/** The number of rows of a request or response body: a list, or its `payload` or `results`; undefined if none. */
export function countRows(body: unknown): number | undefined {
  if (body instanceof SlicedJson) return body.rows
  const { results } = (body ?? {}) as { results?: unknown }
  return rowsOf(body)?.length ?? rowsOf(results)?.length
}
