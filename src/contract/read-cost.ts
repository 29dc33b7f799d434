import { sqlStateOf } from '../database/loggable-error.ts'
import { Problem } from './problem.ts'

/** The longest that one statement of a read may take. */
export const readStatementMs = 5000

/** The server's clock and ours may differ by some milliseconds. */
const clockDriftMs = 50

const queryCanceled = '57014'

/**
 * Does a read whose statements may take too long. Throws `too-costly` with the advice when one of them was ended by the
 * statement timeout; a statement that somebody cancelled before passes as any failure of the database.
 */
export async function withinReadTime<T>(advice: string, work: () => Promise<T>): Promise<T> {
  const began = performance.now()
  try {
    return await work()
  } catch (error) {
    const isTimeout = performance.now() - began >= readStatementMs - clockDriftMs
    if (sqlStateOf(error) !== queryCanceled || !isTimeout) throw error
    const detail = `The read takes longer than ${readStatementMs / 1000} seconds. ${advice}`
    throw new Problem('too-costly', detail, { cause: error })
  }
}
