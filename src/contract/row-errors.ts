import type { components } from '../../generated/openapi.d.ts'
import { Problem, type RequestError } from './problem.ts'

export type ErrorCode = components['schemas']['ErrorCode']

/** The most errors listed in a response; all are counted. */
export const listedMax = 1000

/** Messages of faults that are found in several places, so that a JSON body and a file get the same wording. */
export const sentences = {
  required: 'is required',
  unknownKey: 'is not a known key',
  rowNotInList: 'the published list has no row with this code and these extensions',
  trueOrFalse: 'must be true or false',
  calendarDay: 'must be a real calendar day, yyyy-mm-dd',
  noPriceList: (name: string) => `there is no price list "${name}"`,
  sameKey: (places: string) => `${places} have the same key and differ`,
  otherValues: (places: string, code: string, column: string) =>
    `${places} give code "${code}" different values of "${column}"`,
}

interface RowFault {
  field: string | undefined
  code: ErrorCode
  message: string
}

/** Stands for the faults of a row that are counted but not listed. */
const unlisted = new Map<string, RowFault>()

/**
 * Collects the errors of a payload, so that one response names every bad row. Starts with violations of the contract;
 * later checks add to it and look only at rows without errors.
 */
export class RowErrors {
  readonly #rowsPointer: string
  readonly #listed: number
  readonly #first: number
  /** Faults by row, then by code and field, as a row may have thousands of unknown keys. */
  readonly #byRow = new Map<number, Map<string, RowFault>>()
  /** Errors of rows after this one are only counted. */
  #lastListed = Number.POSITIVE_INFINITY
  #kept = 0
  #counting = { row: -1, keys: new Set<string>() }
  #count = 0

  /**
   * `rowsPointer` is where the body has its rows: '' or '/payload'. The first `listed` errors are kept. `first` is the
   * payload index of the first row checked.
   */
  constructor(rowsPointer: string, listed = listedMax, first = 0) {
    this.#rowsPointer = rowsPointer
    this.#listed = listed
    this.#first = first
  }

  /**
   * Adds an error. `field` is a key, or keys separated by '/', in the row; undefined means the row itself. The same
   * error is added only once, because a retried transaction checks its rows again.
   */
  add(row: number, field: string | undefined, code: ErrorCode, message: string): void {
    const key = field === undefined ? code : `${code}/${field}`
    const faults = this.#byRow.get(row) ?? this.#begin(row)
    if (faults.has(key)) return
    if (row > this.#lastListed || faults.size >= this.#listed) this.#countOne(row, key)
    else this.#keep(row, faults.set(key, { field, code, message }))
  }

  #begin(row: number): Map<string, RowFault> {
    const isListed = row <= this.#lastListed && this.#listed > 0
    const faults = isListed ? new Map<string, RowFault>() : unlisted
    this.#byRow.set(row, faults)
    return faults
  }

  #keep(row: number, faults: Map<string, RowFault>): void {
    this.#count++
    if (++this.#kept <= this.#listed * 10) return
    this.#counting = { row, keys: new Set(faults.keys()) }
    this.#forgetUnlisted()
  }

  #countOne(row: number, key: string): void {
    const { keys } = this.#counting
    if (row !== this.#counting.row) {
      this.#counting.row = row
      keys.clear()
    }
    if (keys.has(key)) return
    keys.add(key)
    this.#count++
  }

  /** Drops errors that will not be listed: 64 MB of unknown keys make millions of errors of 300 bytes each. */
  #forgetUnlisted(): void {
    this.#kept = 0
    for (const [row, faults] of [...this.#byRow].sort(([a], [b]) => a - b)) {
      if (this.#kept >= this.#listed) faults.clear()
      else this.#lastListed = row
      this.#kept += faults.size
    }
  }

  /** The number of errors, including those that are not kept. */
  get count(): number {
    return this.#count
  }

  has(row: number): boolean {
    return this.#byRow.has(row)
  }

  /** The rows without errors, with their index in the payload. */
  sound<T>(rows: readonly T[]): { row: T; position: number }[] {
    const indexed = rows.map((row, index) => ({ row, position: this.#first + index }))
    return this.#count === 0 ? indexed : indexed.filter(({ position }) => !this.has(position))
  }

  /** The kept errors in the order of the payload. */
  all(): RequestError[] {
    return this.#listedOf(this.#count)
  }

  /** Throws `invalid-request` if there are errors. */
  reject(): void {
    if (this.#count > 0) throw this.problem()
  }

  /** Like `reject`, for a body that is the only row: pointers leave the row out. */
  rejectBody(): void {
    if (this.#count === 0) return
    const errors = this.all().map(({ row: _, pointer, ...error }) => {
      return { ...error, pointer: pointer.replace('/0', '') }
    })
    throw invalidRequest(errors, this.#count)
  }

  /** The `invalid-request` problem with these errors. */
  problem(): Problem {
    return invalidRequest(this.#listedOf(listedMax), this.#count)
  }

  #listedOf(max: number): RequestError[] {
    const errors: RequestError[] = []
    for (const [row, faults] of [...this.#byRow].sort(([a], [b]) => a - b)) {
      for (const fault of faults.values()) {
        if (errors.length === max) return errors
        errors.push(this.#errorOf(row, fault))
      }
    }
    return errors
  }

  #errorOf(row: number, { field, code, message }: RowFault): RequestError {
    const pointer = `${this.#rowsPointer}/${row}`
    if (field === undefined) return { pointer, row, code, message }
    return { pointer: `${pointer}/${field}`, row, field: unescapePointer(field), code, message }
  }
}

/** Makes `invalid-request` with the first 1,000 of these errors and the total number. */
export function invalidRequest(errors: RequestError[], total = errors.length): Problem {
  const count = total === 1 ? '1 error' : `${total} errors`
  const listed = errors.slice(0, listedMax)
  const detail =
    listed.length < total ? `${count}, the first ${listed.length} are listed.` : `${count}.`
  return new Problem('invalid-request', detail, { errors: listed, errorCount: total })
}

/** A key as a segment of a JSON Pointer (RFC 6901). */
export function pointerSegment(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** The key of a JSON Pointer segment; for several segments, the keys separated by slashes. */
export function unescapePointer(field: string): string {
  return field.replaceAll('~1', '/').replaceAll('~0', '~')
}
