import { type FindFaults, rowOf, rowsOf } from './incremental-validation.ts'
import type { RequestError } from './problem.ts'
import { invalidRequest, RowErrors, unescapePointer } from './row-errors.ts'
import { bodyError } from './validation.ts'

/** The JSON Pointer of the rows in a body; undefined if it has none. */
export function rowsPointer(body: unknown): '' | '/payload' | undefined {
  if (Array.isArray(body)) return ''
  return rowsOf(body) && '/payload'
}

/**
 * Validates a body. Returns the errors inside rows to the handler, which adds its own, so that one response names every
 * bad row. If there are errors outside the rows, throws `invalid-request` with all. The first `listed` are kept, all
 * are counted. `first` is the payload index of the first row of `body`.
 */
export async function collectRowErrors(
  body: unknown,
  findFaults: FindFaults,
  listed: number,
  first = 0,
): Promise<RowErrors> {
  const base = rowsPointer(body)
  const rowErrors = new RowErrors(base ?? '', listed, first)
  const outside: RequestError[] = []
  let outsideCount = 0
  let last: RequestError | undefined
  await findFaults(body, (faults) => {
    for (const fault of faults) {
      // The fault of the key's name is reported separately as well.
      if (fault.keyword === 'propertyNames') continue
      const error = bodyError(fault)
      const { pointer, code, message } = error
      // A type that stands beside a `$ref` to a schema of that type is found twice.
      if (last?.pointer === pointer && last.message === message) continue
      last = error
      const place = base === undefined ? undefined : rowOf(pointer, base)
      if (!place && outsideCount++ < listed) outside.push(error)
      if (!place) continue
      const { row, rest } = place
      rowErrors.add(first + row, rest === '' ? undefined : rest.slice(1), code, message)
    }
  })
  if (outside.length === 0) return rowErrors
  const { errors = [] } = rowErrors.problem().options
  throw invalidRequest([...outside, ...errors], outsideCount + rowErrors.count)
}

/** Adds row and field to an error inside the rows at `base`. */
export function locate(error: RequestError, base: string | undefined): RequestError {
  if (base === undefined) return error
  const match = /^\/(\d+)(?:\/(.*))?$/s.exec(error.pointer.slice(base.length))
  if (!match || !error.pointer.startsWith(base)) return error
  const field = match[2] === undefined ? {} : { field: unescapePointer(match[2]) }
  return { ...error, row: Number(match[1]), ...field }
}
