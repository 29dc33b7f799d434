import { Problem } from '../contract/problem.ts'

/** 503 before any work is done: there is more to do than can be done now. */
export function overloaded(detail: string, seconds = 1): Problem {
  return new Problem('overloaded', detail, { headers: { 'retry-after': String(seconds) } })
}

/** For work that was not begun when the client went; nobody reads it. */
export function clientGone(): Problem {
  return overloaded('The client is gone.')
}
