import type { components } from '../../generated/openapi.d.ts'
import { Problem, type RequestError } from './problem.ts'

export type ErrorCode = components['schemas']['ErrorCode']

/** Errors listed in one answer; all of them are counted. */
export const listedMax = 1000

interface RowFault {
  field: string | undefined
  code: ErrorCode
  message: string
}

/** The faults of a row that is counted and not listed. */
const unlisted = new Map<string, RowFault>()

/**
 * Collects what is wrong with the rows of one payload, so that an answer names every bad row. It starts with the rows
 * whose shape the contract refuses; checks add to it and look only at the rows that are sound so far.
 */
export class RowErrors {
  readonly #rowsPointer: string
  readonly #listed: number
  /** By code and field: a row may have thousands of unknown keys. Without them: behind all that are listed. */
  readonly #byRow = new Map<number, Map<string, RowFault>>()
  /** Errors of rows behind this one are counted: those before it are as many as are listed. */
  #lastListed = Number.POSITIVE_INFINITY
  #kept = 0
  #counting = { row: -1, keys: new Set<string>() }
  #count = 0

  /** `rowsPointer` is where the rows are in the body: '' or '/payload'. Of the errors the first `listed` are kept. */
  constructor(rowsPointer: string, listed = listedMax) {
    this.#rowsPointer = rowsPointer
    this.#listed = listed
  }

  /**
   * Names a bad row. `field` is a key, or keys separated by '/', within the row; undefined is the row itself. What is named
   * already is not named again: a transaction that is retried checks its rows again.
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

  /** 64 MB of unknown keys are millions of errors, each with 300 bytes. */
  #forgetUnlisted(): void {
    this.#kept = 0
    for (const [row, faults] of [...this.#byRow].sort(([a], [b]) => a - b)) {
      if (this.#kept >= this.#listed) faults.clear()
      else this.#lastListed = row
      this.#kept += faults.size
    }
  }

  /** Errors so far. */
  get count(): number {
    return this.#count
  }

  /** Whether the row has an error so far. */
  has(row: number): boolean {
    return this.#byRow.has(row)
  }

  /** The rows without an error so far, with their index in the payload. */
  sound<T>(rows: readonly T[]): { row: T; position: number }[] {
    const indexed = rows.map((row, position) => ({ row, position }))
    return this.#count === 0 ? indexed : indexed.filter(({ position }) => !this.has(position))
  }

  /** All errors that are kept, in the order of the payload. */
  all(): RequestError[] {
    return this.#first(this.#count)
  }

  /** Throws `invalid-request` with all errors in the order of the payload, if there are any. */
  reject(): void {
    if (this.#count > 0) throw this.problem()
  }

  /** The answer to a request with these errors. */
  problem(): Problem {
    return invalidRequest(this.#first(listedMax), this.#count)
  }

  #first(max: number): RequestError[] {
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

/** The answer to a request with these errors (`total` when there are more), the first 1,000 of them listed. */
export function invalidRequest(errors: RequestError[], total = errors.length): Problem {
  const count = total === 1 ? '1 error' : `${total} errors`
  const listed = total > listedMax ? `${count}, the first ${listedMax} are listed` : count
  return new Problem('invalid-request', `${listed}.`, {
    errors: errors.slice(0, listedMax),
    errorCount: total,
  })
}

/** A key as a segment of a JSON Pointer (RFC 6901). */
export function pointerSegment(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** The key that a segment of a JSON Pointer stands for; of several segments, the keys between slashes. */
export function unescapePointer(field: string): string {
  return field.replaceAll('~1', '/').replaceAll('~0', '~')
}
