import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Operation } from '../contract/document.ts'
import { countRows } from '../contract/incremental-validation.ts'
import { Answer, type InAccount, JsonText, Stream } from '../contract/operation.ts'
import { listedMax } from '../contract/row-errors.ts'
import { collectRowErrors } from '../contract/validation-errors.ts'
import type { Database } from '../database/pool.ts'
import { inAccountSince, readInAccount } from '../database/tenant-transaction.ts'
import { FeedBytes } from '../feeds/feed-bytes.ts'
import { giveFile, takeFile } from './file-routes.ts'
import type { Implementation, OperationServices } from './handlers.ts'
import { hashBody, storing } from './idempotency.ts'
import type { UnreadResponses } from './overload/memory-budget.ts'
import { chooseMediaType } from './preconditions.ts'
import { sendStream } from './send-stream.ts'

/** Loads or exports a file if the request is about one; else runs the handler and answers its result. */
export async function runOperation(
  implementation: Implementation,
  services: OperationServices,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { operation } = implementation
  if (request.body instanceof FeedBytes)
    return takeFile(request.body, implementation, services, request, reply)
  const mediaType = (operation.answers && chooseMediaType(request, operation.answers)) ?? ''
  if (operation.fileAnswers.includes(mediaType))
    return giveFile(mediaType, implementation, services, request, reply)
  const result = await runHandler(implementation, services, request, reply)
  return sendResult(result, operation, services.unread, reply)
}

async function runHandler(
  { handler, operation, findFaults }: Implementation,
  { bulkheads, pools, context }: OperationServices,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const errors = await collectRowErrors(request.body, findFaults, listedMax)
  const account = request.caller?.account ?? 0
  const { body, params, query } = request as never
  const bodyHash = async () => request.bodyHash ?? hashBody(Buffer.alloc(0))
  const db = pools[operation.pool]
  const seated = onSeats(
    (work) => bulkheads[operation.pool].run(account, reply.raw, work),
    db,
    account,
  )
  const sending: InAccount = (work) =>
    bulkheads.streams.run(account, reply.raw, () => readInAccount(pools.streams, account, work))
  const handle = () =>
    handler(
      {
        account,
        body,
        params,
        query,
        errors,
        ifMatch: request.headers['if-match'],
        inAccount: storing(seated, operation, request, bodyHash),
        inAccountSending: sending,
      },
      context,
    )
  const result = await (request.span ? request.span.run(handle) : handle())
  const answered: unknown = result instanceof Answer ? result.body : result
  const isText = answered instanceof JsonText || answered instanceof Stream
  request.answered = isText ? answered : { rows: countRows(answered) }
  return result
}

/** `inAccount` that runs on a seat. A request that comes again because its list was busy has waited since it first came. */
function onSeats(
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
  { scope, status }: Operation,
  unread: UnreadResponses,
  reply: FastifyReply,
): FastifyReply {
  const hold = (bytes: number) => {
    // A write that is done cannot be refused any more.
    if (scope === 'read') unread.hold(reply.request.caller?.account ?? 0, bytes, reply.raw)
  }
  const { body, headers } = result instanceof Answer ? result : new Answer(result, {})
  if (body instanceof Stream) {
    hold(body.heldBytes)
    return sendStream(body, status, reply.headers(headers))
  }
  // JSON.stringify takes half the time of a serializer built from the schema, and does not drop unknown keys.
  const text = body instanceof JsonText ? body.text : JSON.stringify(body)
  hold(Buffer.byteLength(text ?? ''))
  reply.code(status).headers(headers)
  if (text === undefined) return reply.send()
  return reply.type('application/json; charset=utf-8').send(text)
}
