import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Config } from '../config.ts'
import {
  Answer,
  type Context,
  type Handler,
  type InAccount,
  JsonText,
  type OperationId,
  Stream,
} from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import { inAccount } from '../database/in-account.ts'
import type { Database } from '../database/pool.ts'
import type { Admission } from './admission.ts'
import { isWritingPost, type Operation } from './contract.ts'
import type { FairQueue } from './fair-queue.ts'
import { handlers } from './handlers.ts'
import { hashBody, storingAnswer } from './idempotency.ts'
import { clientGone } from './overloaded.ts'
import type { ServiceHandlers, ServiceOperation } from './service.ts'
import { collectRowErrors } from './shape-errors.ts'
import type { FindFaults } from './sliced-validation.ts'
import { compileBody } from './validation.ts'

export interface OperationServices {
  db: Database
  readingDb: Database
  sendingDb: Database
  context: Context
  service: ServiceHandlers
  config: Config
}

/** Route options of an operation: what is checked before its handler runs, and how its result is answered. */
export function operationRoute(
  operation: Operation,
  services: OperationServices,
  { queueOf }: Admission,
): Partial<RouteOptions> {
  const config = { operation }
  if (operation.id in services.service) {
    const handler = services.service[operation.id as ServiceOperation]
    return { config, handler } as Partial<RouteOptions>
  }
  const handler = handlers[operation.id as keyof typeof handlers] as unknown as Handler<OperationId>
  const findFaults: FindFaults = operation.hasBody ? compileBody(operation) : async () => []
  const implementation = { handler, operation, findFaults, queue: queueOf(operation) }
  return {
    config,
    preValidation: async (request) =>
      rejectBody(request, operation, services.config.limits.rowsMax),
    handler: (request, reply) => {
      if (reply.raw.destroyed) throw clientGone()
      const run = () => runHandler(implementation, services, request, reply)
      return request.heldBody?.during(run) ?? run()
    },
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

interface Implementation {
  handler: Handler<OperationId>
  operation: Operation
  findFaults: FindFaults
  /** For its turns at the database. */
  queue: FairQueue
}

async function runHandler(
  { handler, operation, findFaults, queue }: Implementation,
  services: OperationServices,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const errors = collectRowErrors(request.body, await findFaults(request.body))
  const account = request.caller?.account ?? 0
  const { body, params, query } = request as never
  const inTurn: InAccount = (work) =>
    queue.run(account, reply.raw, () => inAccount(databaseOf(operation, services), account, work))
  const result = await handler(
    {
      ...{ account, body, params, query, errors },
      ifMatch: request.headers['if-match'],
      inAccount: storing(inTurn, operation, request),
      inAccountSending: (work) => inAccount(services.sendingDb, account, work),
    },
    services.context,
  )
  if (result instanceof Stream) return sendStream(result, operation, reply)
  const answer = result instanceof Answer ? result : new Answer(result, {})
  reply.code(operation.status).headers(answer.headers)
  // JSON.stringify takes half the time of a serializer built from the schema, which would also drop unknown keys.
  if (answer.body === undefined) return reply.send()
  const answered: unknown = answer.body
  const text = answered instanceof JsonText ? answered.text : JSON.stringify(answered)
  return reply.type('application/json; charset=utf-8').send(text)
}

function databaseOf({ scope }: Operation, { db, readingDb }: OperationServices): Database {
  return scope === 'read' ? readingDb : db
}

/** With an Idempotency-Key, the transactions of a writing POST store its answer. */
function storing(bound: InAccount, operation: Operation, request: FastifyRequest): InAccount {
  const key = request.headers['idempotency-key']
  if (typeof key !== 'string' || !isWritingPost(operation)) return bound
  const { account = 0, subject = '' } = request.caller ?? {}
  const bodyHash = request.bodyHash ?? hashBody(Buffer.alloc(0))
  const path = request.url.replace(/\?.*$/, '').replace(/\/$/, '')
  return storingAnswer(bound, { account, subject, key, path, bodyHash })
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
