import type { ErrorObject, ValidateFunction } from 'ajv'
import { mapCooperatively } from '../lib/cooperative.ts'

/** Rows per call of Ajv, which copies all faults so far for each bad row: 1,000 rows with 400 unknown keys took 8 s. */
const sliceRows = 50
/** Values per call. A fault takes 290 bytes: 25 rows of half a million bad values took 3.5 GB. */
const sliceValues = 10_000

/** Passes the faults of a body to `take`, a few rows at a time. Fills in the contract's defaults. */
export type FindFaults = (body: unknown, take: TakeFaults) => Promise<void>

/** Keeps only what it needs of the faults: all of them may take thirty times the memory of the body. */
type TakeFaults = (faults: ErrorObject[]) => void

/** Validates a body in slices of its rows, which are the body itself or its `payload`. */
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
  take(isRows ? findAroundRows(find) : findAround(find, body as { payload: unknown[] }))
  const starts = Array.from(
    { length: Math.ceil(rows.length / sliceRows) },
    (_, at) => at * sliceRows,
  )
  const slices = await mapCooperatively(starts, (first) => sliceAt(rows, first))
  await mapCooperatively(slices.flat(), ({ first, slice }) => {
    const faults = find(isRows ? slice : { payload: slice })
    take(faults.filter((fault) => shift(fault, isRows ? '' : '/payload', first)))
  })
}

interface RowSlice {
  /** The index of its first row in the payload. */
  first: number
  slice: unknown[]
}

/** The next rows as one slice, or as several if they are large. */
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

/** Counts all nested values. `for in`, because Object.values takes ten times as long. */
function countValues(value: unknown): number {
  let count = 0
  const add = (one: unknown) => {
    count += typeof one === 'object' && one !== null ? 1 + countValues(one) : 1
  }
  if (Array.isArray(value)) value.forEach(add)
  else for (const key in value as object) add((value as Record<string, unknown>)[key])
  return count
}

/** The faults of an array body apart from its rows. The array checked is empty, so `minItems` does not count. */
function findAroundRows(find: Find): ErrorObject[] {
  return find([]).filter(({ keyword }) => keyword !== 'minItems')
}

/** The faults outside the rows. */
function findAround(find: Find, body: { payload: unknown[] }): ErrorObject[] {
  const rows = body.payload
  body.payload = []
  const faults = find(body)
  body.payload = rows
  return faults
}

/** Moves the fault to its row in the whole payload. Returns false for one outside the rows, which is known already. */
function shift(fault: ErrorObject, base: string, first: number): boolean {
  const place = rowOf(fault.instancePath, base)
  if (!place) return false
  fault.instancePath = `${base}/${place.row + first}${place.rest}`
  return true
}

/** The rows of a body: itself or its `payload`; undefined if it has none. */
export function rowsOf(body: unknown): unknown[] | undefined {
  const rows = Array.isArray(body)
    ? body
    : (body as { payload?: unknown } | undefined | null)?.payload
  return Array.isArray(rows) ? rows : undefined
}

/** The row at `base` that a JSON Pointer points into, and the rest of the pointer; undefined if it points elsewhere. */
export function rowOf(pointer: string, base: string): { row: number; rest: string } | undefined {
  const start = base.length + 1
  const slash = pointer.indexOf('/', start)
  const end = slash < 0 ? pointer.length : slash
  const row = Number(pointer.slice(start, end))
  if (end === start || Number.isNaN(row) || !pointer.startsWith(`${base}/`)) return undefined
  return { row, rest: pointer.slice(end) }
}
