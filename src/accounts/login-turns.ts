import { Problem } from '../contract/problem.ts'

/**
 * A password check holds 64 MB and one of Node's four threads, on which tokens are checked and files unpacked, too:
 * 60 checks at once kept a read with a new token waiting for 18 seconds.
 */
const turnsMax = 2
/** About what two turns get done within the longest wait. */
const waitingMax = 32
const waitMs = 2500

let running = 0
const waiting = new Set<() => void>()

/** Runs a login when it is its turn. Throws `overloaded` when too many wait already, or after the longest wait. */
export async function inLoginTurn<T>(login: () => Promise<T>): Promise<T> {
  if (running < turnsMax) running++
  else await waitForTurn()
  try {
    return await login()
  } finally {
    const [next] = waiting
    if (next) next()
    else running--
  }
}

/** Who ends hands its turn on, so `running` stays as it is. */
function waitForTurn(): Promise<void> {
  if (waiting.size >= waitingMax) throw tooManyLogins()
  return new Promise((resolve, reject) => {
    const start = () => {
      leave()
      resolve()
    }
    const timer = setTimeout(() => {
      leave()
      reject(tooManyLogins())
    }, waitMs)
    const leave = () => {
      clearTimeout(timer)
      waiting.delete(start)
    }
    waiting.add(start)
  })
}

function tooManyLogins(): Problem {
  const seconds = Math.ceil(waitMs / 1000)
  return new Problem('overloaded', 'Too many logins at the same time.', {
    headers: { 'retry-after': String(seconds) },
  })
}
