import type { Scope } from '../contract/operation.ts'
import { Problem, type RequestError } from '../contract/problem.ts'

/** Throws `forbidden` if a token would grant a scope that it lacks. */
export function rejectMissingScopes(given: string[], own: ReadonlySet<string>): void {
  const beyond = given.find((scope) => !own.has(scope))
  if (beyond)
    throw new Problem('forbidden', `The token lacks the scope "${beyond}" and cannot give it.`)
}

/** The fault of scopes that allow nothing: `override` alone. */
export function faultsOfScopes(scopes: Scope[]): RequestError[] {
  if (scopes.some((scope) => scope !== 'override')) return []
  const message = 'override allows nothing alone: name the scope of the calls, too'
  return [{ pointer: '/scopes', code: 'not_allowed', message }]
}
