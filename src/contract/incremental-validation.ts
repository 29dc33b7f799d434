import type { ErrorObject, ValidateFunction } from 'ajv'
import { mapInTurns } from '../lib/cooperative.ts'

/**
 * Rows of one call of the validator. It copies all faults so far for each bad row: 1,000 rows with 400 unknown keys each
 * took 8 s in one call.
 */
const sliceRows = 50
/** Each value may have a fault, which takes 290 bytes: 25 rows with half a million bad values each were 3.5 GB. */
const sliceValues = 10_000

/** Gives `take` the faults of a body, those of some rows at a time. Fills in the contract's defaults. */
export type FindFaults = (body: unknown, take: TakeFaults) => Promise<void>

/** Takes what it keeps of them: the faults of all rows at once may take thirty times as much memory as the body. */
type TakeFaults = (faults: ErrorObject[]) => void

/** Validates a body of many rows some rows at a time. The rows are the body itself or its `payload`. */
export function inSlices(validate: ValidateFunction): FindFaults {
  const find = (value: unknown) => (validate(value) ? [] : (validate.errors ?? []))
  return async (body, take) => {
    const rows = rowsOf(body)
    if (rows && (rows.length > sliceRows || countValues(body) > sliceValues))
      await findInRows(find, body, rows, take)
    else take(find(body))
  }
}

type Find = (value: unknown) => ErrorObject[]

async function findInRows(
  find: Find,
  body: unknown,
  rows: unknown[],
  take: TakeFaults,
): Promise<void> {
  const isRows = Array.isArray(body)
  take(isRows ? find([]) : findAround(find, body as { payload: unknown[] }))
  const starts = Array.from(
    { length: Math.ceil(rows.length / sliceRows) },
    (_, at) => at * sliceRows,
  )
  const slices = await mapInTurns(starts, (first) => sliceAt(rows, first))
  await mapInTurns(slices.flat(), ({ first, slice }) => {
    const faults = find(isRows ? slice : { payload: slice })
    take(faults.filter((fault) => shift(fault, isRows ? '' : '/payload', first)))
  })
}

interface RowSlice {
  /** Where its first row is in the payload. */
  first: number
  slice: unknown[]
}

/** The next rows, in one slice or, where they are large, in several. */
function sliceAt(rows: unknown[], first: number): RowSlice[] {
  const slices: RowSlice[] = []
  let left = 0
  for (const [index, row] of rows.slice(first, first + sliceRows).entries()) {
    const values = countValues([row])
    if (values > left) {
      slices.push({ first: first + index, slice: [] })
      left = sliceValues
    }
    slices.at(-1)?.slice.push(row)
    left -= values
  }
  return slices
}

/** What the value has, and what that has, and so on. For an object Object.values takes ten times as long as `for in`. */
function countValues(value: unknown): number {
  let count = 0
  const add = (one: unknown) => {
    count += typeof one === 'object' && one !== null ? 1 + countValues(one) : 1
  }
  if (Array.isArray(value)) value.forEach(add)
  else for (const key in value as object) add((value as Record<string, unknown>)[key])
  return count
}

/** Faults of what stands around the rows. */
function findAround(find: Find, body: { payload: unknown[] }): ErrorObject[] {
  const rows = body.payload
  body.payload = []
  const faults = find(body)
  body.payload = rows
  return faults
}

/** Puts the fault of a row at its place in the whole payload; false for those around the rows, which were found before. */
function shift(fault: ErrorObject, base: string, first: number): boolean {
  const place = rowOf(fault.instancePath, base)
  if (!place) return false
  fault.instancePath = `${base}/${place.row + first}${place.rest}`
  return true
}

/** The rows of a body: itself, or its `payload`; undefined: it has none. */
export function rowsOf(body: unknown): unknown[] | undefined {
  const rows = Array.isArray(body)
    ? body
    : (body as { payload?: unknown } | undefined | null)?.payload
  return Array.isArray(rows) ? rows : undefined
}

/** How many rows a body or an answer has: it is a list, or has one as its `payload` or `results`. */
export function countRows(body: unknown): number | undefined {
  const { results } = (body ?? {}) as { results?: unknown }
  return rowsOf(body)?.length ?? rowsOf(results)?.length
}

/** The row at `base` that a JSON Pointer leads into, and the rest of the pointer; undefined: it leads elsewhere. */
export function rowOf(pointer: string, base: string): { row: number; rest: string } | undefined {
  const start = base.length + 1
  const slash = pointer.indexOf('/', start)
  const end = slash < 0 ? pointer.length : slash
  const row = Number(pointer.slice(start, end))
  if (end === start || Number.isNaN(row) || !pointer.startsWith(`${base}/`)) return undefined
  return { row, rest: pointer.slice(end) }
}
