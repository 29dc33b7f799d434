import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem, unauthorized } from '../contract/problem.ts'
import type { Identify } from './identify-caller.ts'
import { type Caller, KnownTokens } from './known-tokens.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by authentication; undefined for open paths. */
    caller?: Caller
  }
  interface FastifyContextConfig {
    /** The path needs no token. */
    isOpen?: boolean
  }
}

/**
 * Identifies the caller of each request from its Authorization header alone, except for open paths. Throws
 * `unauthorized`, or `forbidden` if the token lacks the operation's scope.
 */
export function authenticateRequests(app: FastifyInstance, identify: Identify): void {
  const knownTokens = new KnownTokens()
  app.addHook('onRequest', (request, _reply, done) => {
    const { operation, isOpen } = request.routeOptions.config
    if (isOpen || (operation && operation.scope === undefined)) return done()
    const token = readToken(request)
    // Whoever has just lost access must not give it to others.
    const known = operation?.scope === 'admin' ? undefined : knownTokens.find(token)
    if (known) {
      admit(request, known)
      return done()
    }
    identify(token)
      .then((identified) => {
        knownTokens.add(token, identified)
        admit(request, identified.caller)
      })
      .then(() => done(), done)
  })
}

/** The query of a call that can make a plan. */
export interface PlanQuery {
  plan?: string
}

/** A call that makes a plan needs only the scope `plan`. */
function admit(request: FastifyRequest, caller: Caller): void {
  const { scope: scopeOfCall, queryNames } = request.routeOptions.config.operation ?? {}
  const isPlan = queryNames?.includes('plan') && (request.query as PlanQuery).plan === 'true'
  const scope = isPlan ? 'plan' : scopeOfCall
  request.caller = caller
  if (scope && scope !== 'any' && !caller.scopes.has(scope))
    throw new Problem('forbidden', `The token lacks the scope "${scope}".`)
}

const tokenLengthMax = 8192

function readToken(request: FastifyRequest): string {
  const headers = request.raw.rawHeaders.filter(
    (name, index) => index % 2 === 0 && name.toLowerCase() === 'authorization',
  )
  if (headers.length === 0)
    throw unauthorized('Send the header "Authorization: jwt <token>"; POST /login/ returns one.')
  if (headers.length > 1) throw unauthorized('The Authorization header is there more than once.')
  const match = /^jwt ([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(request.headers.authorization ?? '')
  if (!match?.[1] || match[1].length > tokenLengthMax) {
    throw unauthorized(
      'The Authorization header must be the word jwt, a space, and a token or an API key.',
    )
  }
  return match[1]
}
