import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Operation } from '../contract/document.ts'
import { countRows, type FindFaults } from '../contract/incremental-validation.ts'
import {
  Answer,
  type Handler,
  type InAccount,
  JsonText,
  type OperationId,
  Stream,
} from '../contract/operation.ts'
import { listedMax } from '../contract/row-errors.ts'
import { collectRowErrors } from '../contract/validation-errors.ts'
import type { Database } from '../database/pool.ts'
import { inAccountSince, readInAccount } from '../database/tenant-transaction.ts'
import { FeedBytes } from '../feeds/feed-bytes.ts'
import { giveFile, takeFile } from './file-routes.ts'
import { hashBody, storing } from './idempotency.ts'
import type { Turns } from './overload/bulkheads.ts'
import type { FairQueue } from './overload/fair-queue.ts'
import type { UnreadAnswers } from './overload/memory-budget.ts'
import { chooseMediaType } from './preconditions.ts'
import type { OperationServices } from './routes.ts'
import { sendStream } from './send-stream.ts'

/** An operation and what does it. */
export interface Implementation {
  handler: Handler<OperationId>
  operation: Operation
  findFaults: FindFaults
  /** For its turns at the database. */
  queue: FairQueue
  turns: Turns
  unread: UnreadAnswers
}

/** Takes or gives a file where the request asks for one; otherwise runs the handler and answers its result. */
export async function runOperation(
  implementation: Implementation,
  services: OperationServices,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { operation } = implementation
  if (request.body instanceof FeedBytes)
    return takeFile(request.body, implementation, services, request, reply)
  const mediaType = chooseMediaType(request.headers.accept, operation.answers ?? []) ?? ''
  if (operation.fileAnswers.includes(mediaType))
    return giveFile(mediaType, implementation, services, request, reply)
  const result = await runHandler(implementation, services, request, reply)
  return sendResult(result, implementation, request, reply)
}

async function runHandler(
  { handler, operation, findFaults, queue, turns }: Implementation,
  services: OperationServices,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const errors = await collectRowErrors(request.body, findFaults, listedMax)
  const account = request.caller?.account ?? 0
  const { body, params, query } = request as never
  const bodyHash = async () => request.bodyHash ?? hashBody(Buffer.alloc(0))
  const db = services.pools[operation.pool]
  const inTurn = inTurns((work) => queue.run(account, reply.raw, work), db, account)
  const sendingInTurn: InAccount = (work) =>
    turns.streams.run(account, reply.raw, () =>
      readInAccount(services.pools.streams, account, work),
    )
  const handle = () =>
    handler(
      {
        account,
        body,
        params,
        query,
        errors,
        ifMatch: request.headers['if-match'],
        inAccount: storing(inTurn, operation, request, bodyHash),
        inAccountSending: sendingInTurn,
      },
      services.context,
    )
  const result = await (request.span ? request.span.run(handle) : handle())
  const answered: unknown = result instanceof Answer ? result.body : result
  const isText = answered instanceof JsonText || answered instanceof Stream
  request.answered = isText ? answered : { rows: countRows(answered) }
  return result
}

/** `inAccount` in a turn. Who comes again because its list was busy has waited since it came first. */
function inTurns(
  run: <T>(work: () => Promise<T>) => Promise<T>,
  db: Database,
  account: number,
): InAccount {
  let since: number | undefined
  return (work) =>
    run(async () => {
      since ??= performance.now()
      const result = await inAccountSince(since, db, account, work)
      since = undefined
      return result
    })
}

function sendResult(
  result: unknown,
  { operation: { scope, status }, unread }: Implementation,
  { caller }: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const hold = (bytes: number) => {
    // A write that is done can be refused no more.
    if (scope === 'read') unread.hold(caller?.account ?? 0, bytes, reply.raw)
  }
  const { body, headers } = result instanceof Answer ? result : new Answer(result, {})
  if (body instanceof Stream) {
    hold(body.heldBytes)
    return sendStream(body, status, reply.headers(headers))
  }
  // JSON.stringify takes half the time of a serializer built from the schema, which would also drop unknown keys.
  const text = body instanceof JsonText ? body.text : JSON.stringify(body)
  hold(Buffer.byteLength(text ?? ''))
  reply.code(status).headers(headers)
  if (text === undefined) return reply.send()
  return reply.type('application/json; charset=utf-8').send(text)
}
