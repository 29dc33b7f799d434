import { type FindFaults, rowOf, rowsOf } from './incremental-validation.ts'
import type { RequestError } from './problem.ts'
import { invalidRequest, RowErrors, unescapePointer } from './row-errors.ts'
import { bodyError } from './validation.ts'

/** Where the rows of a body are: the body itself, or its `payload`; undefined: it has none. */
export function rowsPointer(body: unknown): '' | '/payload' | undefined {
  if (Array.isArray(body)) return ''
  return rowsOf(body) && '/payload'
}

/**
 * Sorts the faults that the contract finds in a body. Faults inside rows are collected for the handler, which adds its
 * own, so that one answer names every bad row; any fault outside the rows is answered at once, with all others. `listed`:
 * how many faults are kept in rows and outside them, the others are counted.
 */
export async function collectRowErrors(
  body: unknown,
  findFaults: FindFaults,
  listed: number,
): Promise<RowErrors> {
  const base = rowsPointer(body)
  const rowErrors = new RowErrors(base ?? '', listed)
  const outside: RequestError[] = []
  let outsideCount = 0
  await findFaults(body, (faults) => {
    for (const fault of faults) {
      // What is wrong with the name of a key is a fault of its own; that there is one is said twice.
      if (fault.keyword === 'propertyNames') continue
      const error = bodyError(fault)
      const { pointer, code, message } = error
      const place = base === undefined ? undefined : rowOf(pointer, base)
      if (!place && outsideCount++ < listed) outside.push(error)
      if (!place) continue
      const { row, rest } = place
      rowErrors.add(row, rest === '' ? undefined : rest.slice(1), code, message)
    }
  })
  if (outside.length === 0) return rowErrors
  const { errors = [] } = rowErrors.problem().options
  throw invalidRequest([...outside, ...errors], outsideCount + rowErrors.count)
}

/** The error with its row and field, if it is in one of the rows at `base`; there are none without it. */
export function locate(error: RequestError, base: string | undefined): RequestError {
  if (base === undefined) return error
  const match = /^\/(\d+)(?:\/(.*))?$/s.exec(error.pointer.slice(base.length))
  if (!match || !error.pointer.startsWith(base)) return error
  const field = match[2] === undefined ? {} : { field: unescapePointer(match[2]) }
  return { ...error, row: Number(match[1]), ...field }
}
