import type { ErrorObject, ValidateFunction } from 'ajv'
import { nextTurn } from '../next-turn.ts'

/** Validated in about 3 ms; then other requests get their turn. */
const sliceRows = 1000

/** The faults of a body, none when it is valid. Fills in the contract's defaults. */
export type FindFaults = (body: unknown) => Promise<ErrorObject[]>

/** Validates a body of many rows some rows at a time. The rows are the body itself or its `payload`. */
export function inSlices(validate: ValidateFunction): FindFaults {
  return async (body) => {
    const payload = Array.isArray(body) ? body : (body as { payload?: unknown } | null)?.payload
    if (Array.isArray(payload) && payload.length > sliceRows)
      return findInRows(validate, body, payload)
    return validate(body) ? [] : (validate.errors ?? [])
  }
}

async function findInRows(
  validate: ValidateFunction,
  body: unknown,
  rows: unknown[],
): Promise<ErrorObject[]> {
  const isRows = Array.isArray(body)
  const faults = isRows ? [] : findAround(validate, body as { payload: unknown[] })
  for (let first = 0; first < rows.length; first += sliceRows) {
    const slice = rows.slice(first, first + sliceRows)
    if (!validate(isRows ? slice : { ...(body as object), payload: slice })) {
      for (const fault of validate.errors ?? [])
        faults.push(...shifted(fault, isRows ? '' : '/payload', first))
    }
    await nextTurn()
  }
  return faults
}

/** Faults of what stands around the rows. */
function findAround(validate: ValidateFunction, body: { payload: unknown[] }): ErrorObject[] {
  const rows = body.payload
  body.payload = []
  const faults = validate(body) ? [] : [...(validate.errors ?? [])]
  body.payload = rows
  return faults
}

/** The fault of a row at its place in the whole payload; those around the rows were found before. */
function shifted(fault: ErrorObject, base: string, first: number): ErrorObject[] {
  const match = /^\/(\d+)(.*)$/s.exec(fault.instancePath.slice(base.length))
  if (!match || !fault.instancePath.startsWith(base)) return []
  return [{ ...fault, instancePath: `${base}/${Number(match[1]) + first}${match[2]}` }]
}
