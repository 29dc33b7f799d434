import { isTimeout } from '../database/errors.ts'
import { Problem } from './problem.ts'

/** The longest that a statement of a read may take. */
export const readStatementMs = 5000

/** The clocks of the server and of this process may differ by some milliseconds. */
const clockDriftMs = 50

/**
 * Runs a read whose statements may take too long. Throws `too-costly` with the advice if the statement timeout ended
 * one; an earlier cancellation is an ordinary database error.
 */
export async function withinReadTime<T>(advice: string, work: () => Promise<T>): Promise<T> {
  const began = performance.now()
  try {
    return await work()
  } catch (error) {
    const isLate = performance.now() - began >= readStatementMs - clockDriftMs
    if (!isTimeout(error) || !isLate) throw error
    throw tooSlow(advice, error)
  }
}

/** Makes the `too-costly` problem of a slow read, with advice on what to change. */
export function tooSlow(advice: string, cause?: unknown): Problem {
  const detail = `The read takes longer than ${readStatementMs / 1000} seconds. ${advice}`
  return new Problem('too-costly', detail, { cause })
}

/** Rows per statement, so that each takes only a part of the time limit. */
const partRows = 5_000

/** Finds the results of many rows, 5,000 at a time. Throws `too-costly` with the advice. */
export async function readInParts<Row, Result>(
  advice: string,
  rows: Row[],
  find: (some: Row[]) => Promise<Result[]>,
): Promise<Result[]> {
  const results: Result[] = []
  for (let from = 0; from < rows.length; from += partRows) {
    const some = rows.slice(from, from + partRows)
    for (const result of await withinReadTime(advice, () => find(some))) results.push(result)
  }
  return results
}
