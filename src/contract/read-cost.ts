import { sqlStateOf } from '../database/errors.ts'
import { Problem } from './problem.ts'

/** The longest time of a statement of a read. */
export const readStatementMs = 5000

/** The server's clock and ours may differ by some milliseconds. */
const clockDriftMs = 50

const queryCanceled = '57014'

/**
 * Runs a read whose statements may take too long. Throws `too-costly` with the advice if the statement timeout ended one;
 * an earlier cancellation is an ordinary database error.
 */
export async function withinReadTime<T>(advice: string, work: () => Promise<T>): Promise<T> {
  const began = performance.now()
  try {
    return await work()
  } catch (error) {
    const isTimeout = performance.now() - began >= readStatementMs - clockDriftMs
    if (sqlStateOf(error) !== queryCanceled || !isTimeout) throw error
    throw tooSlow(advice, error)
  }
}

/** `too-costly` for a read that takes too long, with what to change about it. */
export function tooSlow(advice: string, cause?: unknown): Problem {
  const detail = `The read takes longer than ${readStatementMs / 1000} seconds. ${advice}`
  return new Problem('too-costly', detail, { cause })
}
