import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import { contractBelow } from '../contract/document.ts'
import type { Schemas } from '../contract/operation.ts'
import { Problem, unavailable } from '../contract/problem.ts'
import { findNodes } from '../database/nodes.ts'
import type { Database } from '../database/pool.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { pathPrefixOf } from './headers.ts'

/** Operations about the service rather than an account. They are served however high the load. */
export type ServiceOperation =
  | 'readLiveness'
  | 'readReadiness'
  | 'readMetrics'
  | 'readContractYaml'
  | 'readContractJson'

type ServiceHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

export type ServiceHandlers = Record<ServiceOperation, ServiceHandler>

export interface ServiceState {
  /** A pool of its own, so that a busy service is not taken for a dead one. */
  db: Database
  isStopping: () => boolean
  metrics: Metrics | undefined
  metricsToken: string | undefined
}

/**
 * Handlers of the operations about the service. Readiness throws `unavailable`; metrics throws `unauthorized` or
 * `not-found`.
 */
export function serviceHandlers(state: ServiceState): ServiceHandlers {
  return {
    readLiveness: async () => ({ status: 'ok' }),
    readReadiness: async () => {
      if (state.isStopping()) throw unavailable('The service is shutting down.')
      return readReadiness(state.db).catch((cause) => {
        throw unavailable('The database does not answer.', 1, cause)
      })
    },
    readMetrics: (request, reply) => readMetrics(state, request, reply),
    readContractYaml: async (request, reply) =>
      reply.type('application/yaml; charset=utf-8').send(contractBelow(pathPrefixOf(request)).yaml),
    readContractJson: async (request, reply) =>
      reply.type('application/json; charset=utf-8').send(contractBelow(pathPrefixOf(request)).json),
  }
}

/**
 * Ready while the first database node responds. If another node is down, only its accounts are refused; a load balancer
 * that took the service out would refuse all of them.
 */
async function readReadiness(db: Database): Promise<Schemas['Health']> {
  // Reads a table, because even a role without privileges can connect. Each node has a copy of this table.
  await sql`select id from account_names limit 1`.execute(db)
  const missing = (await findNodes(db)).filter(({ isUp }) => !isUp)
  return {
    status: 'ok',
    ...(missing.length > 0 && { missing_nodes: missing.map(({ name }) => name) }),
  }
}

/** Prometheus sends its token as `Bearer`. */
async function readMetrics(
  { metrics, metricsToken }: ServiceState,
  { headers }: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  if (!metrics || !metricsToken) throw new Problem('not-found', 'There is no such path.')
  const token = /^bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? ''
  if (!isSame(token, metricsToken)) {
    throw new Problem('unauthorized', 'Send the header "Authorization: Bearer <METRICS_TOKEN>".', {
      headers: { 'www-authenticate': 'Bearer' },
    })
  }
  return reply.type(metrics.contentType).send(await metrics.text())
}

/** Compares in constant time. */
function isSame(one: string, other: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(hash(one), hash(other))
}
