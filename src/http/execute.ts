import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Operation } from '../contract/document.ts'
import { Answer, type InAccount, JsonText, Stream } from '../contract/operation.ts'
import { countRows, sliceRows } from '../contract/row-slices.ts'
import { ClientStalled } from '../contract/send-pieces.ts'
import { bodyCheck } from '../contract/validation.ts'
import { selectInAccount } from '../database/account-select.ts'
import type { Database } from '../database/pool.ts'
import { inAccount, readInAccount } from '../database/tenant-transaction.ts'
import type { PlanQuery } from './authentication.ts'
import type { OperationCall } from './handlers.ts'
import { prefersJob } from './headers.ts'
import { hashBody, storing } from './idempotency.ts'
import { originOf } from './origin.ts'
import type { UnreadResponses } from './overload/memory-budget.ts'
import { noteBrokenAnswer } from './problem-reply.ts'

/** Runs an operation's handler and sends its result. */
export async function runOperation(call: OperationCall): Promise<FastifyReply> {
  const result = await runHandler(call)
  return sendResult(result, call.operation, call.services.unread, call.reply)
}

async function runHandler({
  handler,
  operation,
  services: { bulkheads, pools, priceReads, context },
  request,
  reply,
}: OperationCall): Promise<unknown> {
  const findFaults = operation.hasBody ? bodyCheck(operation) : async () => {}
  const slices = await sliceRows(request.body, findFaults)
  const account = request.caller?.account ?? 0
  const { body, params, query } = request as never
  const hash = async () => request.bodyHash ?? hashBody(Buffer.alloc(0))
  const hashing = { secret: context.jwtSecret, hash }
  const seated = <T>(work: (db: Database) => Promise<T>) =>
    bulkheads[operation.pool].run(account, reply.raw, () =>
      priceReads.run(operation, account, work),
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
        errors: slices.errors,
        slices,
        origin: originOf(request),
        scopes: request.caller?.scopes ?? new Set(),
        ifMatch: request.headers['if-match'],
        prefersJob: prefersJob(request),
        inAccount: storing(onSeats(seated, account), operation, request, hashing),
        selectInAccount: (select, values) =>
          seated((db) => selectInAccount(db, account, select, values)),
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

/** `inAccount` on a seat. If a request is retried because its list was busy, its wait counts from the first attempt. */
function onSeats(
  run: <T>(work: (db: Database) => Promise<T>) => Promise<T>,
  account: number,
): InAccount {
  let since: number | undefined
  return (work) =>
    run(async (db) => {
      since ??= performance.now()
      const result = await inAccount(db, account, work, since)
      since = undefined
      return result
    })
}

const jobsPath = '/api/v1/jobs/'

/** The status of a successful call: 201 for a plan, 202 for a job that makes one, otherwise the operation's own. */
export function statusOf(
  { status, scope }: Operation,
  { query }: FastifyRequest,
  location: string | undefined,
): number {
  const makesPlan = scope === 'plan' || (query as PlanQuery).plan === 'true'
  if (location === undefined || !makesPlan) return status
  return location.startsWith(jobsPath) ? 202 : 201
}

function sendResult(
  result: unknown,
  operation: Operation,
  unread: UnreadResponses,
  reply: FastifyReply,
): FastifyReply {
  const hold = (bytes: number) => {
    // A completed write can no longer be refused.
    if (operation.isRead) unread.hold(reply.request.caller?.account ?? 0, bytes, reply.raw)
  }
  const { body, headers, secrets } = result instanceof Answer ? result : new Answer(result, {})
  if (body instanceof Stream) {
    hold(body.heldBytes)
    return sendStream(body, operation.status, reply.headers(headers))
  }
  // JSON.stringify takes half the time of a serializer built from the schema, and does not drop unknown keys.
  const text =
    body instanceof JsonText ? body.text : JSON.stringify(secrets ? { ...body, ...secrets } : body)
  hold(Buffer.byteLength(text ?? ''))
  reply.code(statusOf(operation, reply.request, headers.location)).headers(headers)
  if (!text) return reply.send()
  return reply.type('application/json; charset=utf-8').send(text)
}

/**
 * Sends a stream, which ends when the client is gone and is not read for HEAD. A failure breaks off the response so
 * that the client notices, and is logged and counted unless the client stalled.
 */
export function sendStream(
  { contentType, open }: Stream,
  status: number,
  reply: FastifyReply,
): FastifyReply {
  const gone = new AbortController()
  const isHead = reply.request.method === 'HEAD'
  const pieces = open(gone.signal)
  // A Readable is sent as is, so that its error breaks off the response immediately, however slow the client is.
  const body = !isHead && pieces instanceof Readable ? pieces : Readable.from(isHead ? [] : pieces)
  // A client that is already gone causes no `close`.
  if (isHead || reply.raw.destroyed) gone.abort()
  else reply.raw.once('close', () => gone.abort())
  body.once('error', (error) => {
    if (!reply.raw.headersSent || gone.signal.aborted) return
    resetWhereEndIsClose(reply)
    if (!(error instanceof ClientStalled)) noteBrokenAnswer(error, reply.request)
  })
  return reply.code(status).type(contentType).send(body)
}

/** HTTP/1.0 has no chunks: without a reset, a broken connection would look like the end of the body. */
function resetWhereEndIsClose({ raw, request }: FastifyReply): void {
  if (request.raw.httpVersion === '1.0') raw.socket?.resetAndDestroy()
}
