import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { type Operation, operations } from '../../contract/document.ts'
import type { Problem } from '../../contract/problem.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import type { KnownTokens } from '../authentication.ts'
import { bareAnswer } from '../client-error.ts'
import { clientRequestId } from '../request-log.ts'
import type { Admission } from './admission-control.ts'

export interface EarlyRefusal {
  admission: Admission
  knownTokens: KnownTokens
  metrics: Telemetry['metrics']
}

/**
 * Refuses what admission would refuse before it is routed: of those who are known, at paths without parameters. Under
 * four times the load that the service can take, three of four requests are refusals: they must cost next to nothing.
 */
export function refuseEarly(
  app: FastifyInstance,
  { admission, knownTokens, metrics }: EarlyRefusal,
) {
  const [route] = app.server.listeners('request') as ((...args: unknown[]) => void)[]
  app.server.removeAllListeners('request')
  app.server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const refused = findRefusal(request, admission, knownTokens)
    if (!refused) return route?.(request, response)
    const { operation, account, problem } = refused
    const { id, status, headers, body } = bareAnswer(problem)
    admission.pace.count(account, request)
    response.writeHead(status, headers).end(body)
    const client_request_id = clientRequestId(request)
    const named = { account, operation: operation.id, method: request.method, client_request_id }
    app.log.info({ request_id: id, ...named, status, problem: problem.type, ms: 0 })
    metrics?.request({ operation: operation.id, status, seconds: 0, rowsWritten: 0, rowsRead: 0 })
  })
}

interface Refused {
  operation: Operation
  account: number
  problem: Problem
}

/** Every path answers with and without its trailing slash. */
function withoutSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path
}

const operationsByPath = new Map(
  operations
    .filter(({ scope, path }) => scope !== undefined && !path.includes('{'))
    .map((operation) => [`${operation.method} ${withoutSlash(operation.path)}`, operation]),
)

function findRefusal(
  { method, url = '', headers }: IncomingMessage,
  admission: Admission,
  knownTokens: KnownTokens,
): Refused | undefined {
  const operation = operationsByPath.get(`${method} ${withoutSlash(url)}`)
  if (!operation?.scope) return undefined
  const caller = knownTokens.find(headers.authorization?.slice('jwt '.length) ?? '')
  if (!caller?.scopes.has(operation.scope)) return undefined
  const problem = admission.refusal(operation, caller.account)
  return problem && { operation, account: caller.account, problem }
}
