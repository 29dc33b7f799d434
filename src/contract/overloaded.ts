import { Problem, type ProblemType } from './problem.ts'

/** Refusals by what they say: under overload each is given thousands of times a second, and its stack costs the most. */
const refusals = new Map<string, Problem>()

/** What tells a client to come again in so many seconds, of which there are few. Shared: nothing of it may be changed. */
export function refusalOf(
  type: Extract<ProblemType, 'overloaded' | 'too-many-requests'>,
  detail: string,
  seconds: number,
): Problem {
  const key = `${type} ${seconds} ${detail}`
  const known = refusals.get(key)
  if (known) return known
  const refusal = new Problem(type, detail, { headers: { 'retry-after': String(seconds) } })
  refusals.set(key, refusal)
  return refusal
}

/** 503 before any work is done: there is more to do than can be done now. */
export function overloaded(detail: string, seconds = 1): Problem {
  return refusalOf('overloaded', detail, seconds)
}

/** For work that was not begun when the client went; nobody reads it. */
export function clientGone(): Problem {
  return overloaded('The client is gone.')
}
