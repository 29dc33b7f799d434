import type { RequestError } from '../contract/problem.ts'
import { invalidRequest, listedMax, unescapePointer } from '../contract/row-errors.ts'
import type { StagedFault, StagedFaults } from '../contract/staged-faults.ts'

/** What is wrong with the rows of a file: all counted, the first 1,000 kept. */
export class FeedErrors {
  readonly #listed: RequestError[] = []
  #count = 0

  /** How many more are kept. */
  get left(): number {
    return Math.max(listedMax - this.#count, 0)
  }

  /** Adds the first of `count` errors, in the order of their rows. */
  add(errors: readonly RequestError[], count: number): void {
    this.#count += count
    this.#listed.push(...errors.slice(0, listedMax - this.#listed.length))
  }

  /** Adds what was found when all rows were there, which may be about any row. */
  addLate({ first, count }: StagedFaults): void {
    this.#count += count
    this.#listed.push(...first.slice(0, listedMax).map(errorOf))
    this.#listed.sort((a, b) => (a.row ?? 0) - (b.row ?? 0))
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
