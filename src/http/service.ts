import type { FastifyReply, FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import { unavailable } from '../contract/problem.ts'
import type { Database } from '../database/pool.ts'
import { contractYaml, readContract } from './contract.ts'

/** Operations about the service itself, of no account: they answer with what the other handlers do not know. */
export type ServiceOperation =
  | 'readLiveness'
  | 'readReadiness'
  | 'readContractYaml'
  | 'readContractJson'

type ServiceHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

export type ServiceHandlers = Record<ServiceOperation, ServiceHandler>

export interface Readiness {
  /** A pool of its own, so that a busy service is not taken for a dead one. */
  db: Database
  isStopping: () => boolean
}

/** Handlers of the operations about the service. */
export function serviceHandlers(readiness: Readiness): ServiceHandlers {
  const contractJson = JSON.stringify(readContract())
  return {
    readLiveness: async () => ({ status: 'ok' }),
    readReadiness: async () => {
      if (readiness.isStopping()) throw unavailable('The service is shutting down.')
      await sql`select`.execute(readiness.db).catch((cause) => {
        throw unavailable('The database does not answer.', 1, cause)
      })
      return { status: 'ok' }
    },
    readContractYaml: async (_request, reply) =>
      reply.type('application/yaml; charset=utf-8').send(contractYaml),
    readContractJson: async (_request, reply) =>
      reply.type('application/json; charset=utf-8').send(contractJson),
  }
}
