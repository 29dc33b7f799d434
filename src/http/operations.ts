import { Readable } from 'node:stream'
import type { ErrorObject } from 'ajv'
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Config } from '../config.ts'
import {
  Answer,
  type Context,
  type Handler,
  type OperationId,
  Stream,
} from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import { inAccount } from '../database/in-account.ts'
import type { Database } from '../database/pool.ts'
import type { Operation } from './contract.ts'
import { handlers } from './handlers.ts'
import type { ServiceOperation } from './service.ts'
import { type Readiness, serviceHandlers } from './service.ts'
import { collectRowErrors } from './shape-errors.ts'

export interface OperationServices {
  db: Database
  context: Context
  readiness: Readiness
  config: Config
}

/** Route options of an operation: what is checked before its handler runs, and how its result is answered. */
export function operationRoute(
  operation: Operation,
  services: OperationServices,
): Partial<RouteOptions> {
  const config = { operation }
  const service = serviceHandlers(services.readiness)
  if (operation.id in service) {
    return { config, handler: service[operation.id as ServiceOperation] } as Partial<RouteOptions>
  }
  const handler = handlers[operation.id as keyof typeof handlers] as unknown as Handler<OperationId>
  return {
    config,
    attachValidation: operation.hasBody,
    preValidation: async (request) =>
      rejectBody(request, operation, services.config.limits.rowsMax),
    handler: (request, reply) => runHandler(handler, operation, services, request, reply),
  } as Partial<RouteOptions>
}

/** A body that is missing, or has more rows than a call takes: found before the rows are validated. */
function rejectBody({ body }: FastifyRequest, operation: Operation, rowsMax: number): void {
  if (!operation.hasBody) return
  if (body === undefined) throw new Problem('malformed-body', 'Send a JSON body.')
  const rows = Array.isArray(body) ? body : (body as { payload?: unknown } | null)?.payload
  if (Array.isArray(rows) && rows.length > rowsMax) {
    const detail = `A call takes at most ${rowsMax} rows, this one has ${rows.length}. Send them in several calls.`
    throw new Problem('payload-too-large', detail)
  }
}

async function runHandler(
  handler: Handler<OperationId>,
  operation: Operation,
  { db, context }: OperationServices,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { validationError } = request
  if (validationError && validationError.validationContext !== 'body') throw validationError
  const errors = collectRowErrors(
    request.body,
    (validationError?.validation ?? []) as ErrorObject[],
  )
  const account = request.caller?.account ?? 0
  const { body, params, query } = request as never
  const result = await handler(
    { account, body, params, query, errors, inAccount: (work) => inAccount(db, account, work) },
    context,
  )
  if (result instanceof Stream) return sendStream(result, operation, reply)
  const answer = result instanceof Answer ? result : new Answer(result, {})
  reply.code(operation.status).headers(answer.headers)
  // JSON.stringify takes half the time of a serializer built from the schema, which would also drop unknown keys.
  if (answer.body === undefined) return reply.send()
  return reply.type('application/json; charset=utf-8').send(JSON.stringify(answer.body))
}

function sendStream(
  { contentType, open, headers }: Stream,
  { status }: Operation,
  reply: FastifyReply,
): FastifyReply {
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  return reply
    .code(status)
    .headers(headers)
    .type(contentType)
    .send(Readable.from(open(gone.signal)))
}
