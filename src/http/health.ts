import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import { contractBelow } from '../contract/document.ts'
import type { Schemas } from '../contract/operation.ts'
import { Problem, unavailable } from '../contract/problem.ts'
import { findNodes } from '../database/nodes.ts'
import type { Database } from '../database/pool.ts'
import type { Metrics } from '../telemetry/telemetry.ts'
import { pathPrefixOf } from './headers.ts'

/** Operations about the service itself and not about an account. They are answered however much there is to do. */
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

/** Handlers of the operations about the service. */
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
 * Ready while the first node of the database answers. Without one of the others only its accounts are refused: a load
 * balancer that took the service away would refuse all.
 */
async function readReadiness(db: Database): Promise<Schemas['Health']> {
  // It reads a table, as a role without privileges can connect, too. Each node has a copy of this one.
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
