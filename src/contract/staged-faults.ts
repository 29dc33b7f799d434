import { Problem, type RequestError } from './problem.ts'
import { type ErrorCode, invalidRequest, listedMax, unescapePointer } from './row-errors.ts'

/** A fault that shows only once all rows are staged. */
export interface StagedFault {
  position: number
  line: number
  /** As in a JSON Pointer; '' is the row itself. */
  field: string
  code: ErrorCode
  message: string
}

/** The first faults in the order of the file, at most `stagedFaultsMax`, and the number of all. */
export interface StagedFaults {
  first: StagedFault[]
  count: number
}

/** As many as a response returns: a file for the wrong list may have millions. */
export const stagedFaultsMax = 10_000

/** Turns the rows of a statement into faults; each row carries the `total` number of faults. */
export function stagedFaults<Row extends { position: number; line: number; total: number }>(
  rows: readonly Row[],
  faultOf: (row: Row) => Pick<StagedFault, 'field' | 'code' | 'message'>,
): StagedFaults {
  const first = rows.map((row) => ({ position: row.position, line: row.line, ...faultOf(row) }))
  return { first, count: rows[0]?.total ?? 0 }
}

/** Merges faults in the order of the file. */
export function bothFaults(one: StagedFaults, other: StagedFaults): StagedFaults {
  const first = [...one.first, ...other.first].sort((a, b) => a.position - b.position)
  return { first: first.slice(0, stagedFaultsMax), count: one.count + other.count }
}

/** An unknown key, which its error names, may be as long as its row. */
const pointersLengthMax = 8 * 1024 * 1024

/** The errors of a payload that is read in slices: all are counted, the first 1,000 kept, fewer if they are long. */
export class SliceErrors {
  readonly #listed: RequestError[] = []
  #count = 0
  #pointersLength = 0

  /** How many more errors will be kept. */
  get left(): number {
    return this.#pointersLength < pointersLengthMax ? Math.max(listedMax - this.#count, 0) : 0
  }

  get isEmpty(): boolean {
    return this.#count === 0
  }

  /** Adds `errors`, the first of `count`, in row order. */
  add(errors: readonly RequestError[], count: number): void {
    this.#count += count
    for (const error of errors.slice(0, listedMax - this.#listed.length)) {
      if (this.#pointersLength >= pointersLengthMax) return
      this.#pointersLength += error.pointer.length
      this.#listed.push(error)
    }
  }

  /** Adds faults that showed once all rows were staged; they may concern any row. */
  addLate({ first, count }: StagedFaults): void {
    this.#count += count
    this.#listed.push(...first.slice(0, listedMax).map(errorOf))
    this.#listed.sort((a, b) => (a.row ?? 0) - (b.row ?? 0))
  }

  /** The fault that ended the reading. `malformed-file` gets the errors of the rows before it, too. */
  withEarlier(fault: unknown): unknown {
    if (!(fault instanceof Problem) || fault.type !== 'malformed-file' || this.isEmpty) return fault
    const { errors: own = [] } = fault.options
    const errors = [...this.#listed.slice(0, listedMax - own.length), ...own]
    const errorCount = this.#count + own.length
    return new Problem(fault.type, fault.message, { ...fault.options, errors, errorCount })
  }

  /** Throws `invalid-request` if there are any. */
  reject(): void {
    if (this.#count > 0) throw invalidRequest(this.#listed, this.#count)
  }
}

function errorOf({ position: row, line, field, code, message }: StagedFault): RequestError {
  const pointer = field === '' ? `/${row}` : `/${row}/${field}`
  return { pointer, row, line, ...(field && { field: unescapePointer(field) }), code, message }
}
