import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Operation } from '../contract/document.ts'
import type { Export } from '../contract/export.ts'
import { type Answer, type InAccount, type OperationId, Stream } from '../contract/operation.ts'
import { clientGone } from '../contract/overloaded.ts'
import { onceInAccount } from '../database/tenant-transaction.ts'
import { answerExport } from '../feeds/export.ts'
import { exports } from '../feeds/exports.ts'
import type { FeedBytes } from '../feeds/feed-bytes.ts'
import { acceptFile, isFileJob, isForJob } from './accept-file.ts'
import { answerFeed, type FeedCall, feedResultType } from './answer-feed.ts'
import type { Implementation } from './execute.ts'
import { storing } from './idempotency.ts'
import type { OperationServices } from './operations.ts'
import { sendStream } from './send-stream.ts'

/**
 * Loads a file, or has a job load it; one that is refused comes back with its errors when the client accepts a file.
 */
export async function takeFile(
  bytes: FeedBytes,
  implementation: Implementation,
  services: OperationServices,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  excuseOwnDelay(request, reply)
  const call = feedCall(bytes, implementation, services, request, reply)
  const isStored = isForJob(call)
  if (!isStored) request.file = call.progress
  const take = isStored ? acceptFile : answerFeed
  const result = await take(call).catch(async (refusal) => {
    if (!(await bytes.discard())) reply.header('connection', 'close')
    throw refusal
  })
  if (result instanceof Stream) return sendStream(result, 400, reply)
  return sendAnswer(result, implementation.operation, reply)
}

/** Nothing moves on the connection while we have not read what has arrived, nor while all rows are written. */
function excuseOwnDelay({ raw: file }: FastifyRequest, { raw: answer }: FastifyReply): void {
  file.once('end', () => file.setTimeout?.(0))
  answer.on('timeout', (socket: Socket) => {
    if (file.complete || file.readableLength > 0) socket.setTimeout(socket.timeout ?? 0)
    else socket.destroy()
  })
}

function feedCall(
  bytes: FeedBytes,
  { operation, findFaults, turns }: Implementation,
  { pools, context }: OperationServices,
  request: FastifyRequest,
  reply: FastifyReply,
): FeedCall {
  const account = request.caller?.account ?? 0
  const bound: InAccount = (work) =>
    turns.files.run(account, reply.raw, () => onceInAccount(pools.files, account, work))
  return {
    ...{ operation, findFaults, bytes, account, context },
    query: request.query as object,
    accept: request.headers.accept,
    prefer: request.headers.prefer?.toString(),
    inAccount: storing(bound, operation, request, () => bytes.digest()),
    progress: { rows: 0 },
    rejectGone: () => {
      if (reply.raw.destroyed) throw clientGone()
    },
    onDiskFault: (err) => request.log.error({ err }, 'no temporary file for refused rows'),
  }
}

function sendAnswer(
  result: Answer<string>,
  operation: Operation,
  reply: FastifyReply,
): FastifyReply {
  const { body, headers } = result
  // A job that will do the work is answered like that of a JSON body.
  const type = headers.location ? 'application/json; charset=utf-8' : feedResultType
  const status = isFileJob(result) ? 202 : operation.status
  return reply.code(status).headers(headers).type(type).send(body)
}

/** Answers with a file of all rows. */
export async function giveFile(
  mediaType: string,
  { operation: { id, status }, turns }: Implementation,
  { pools: { files: db } }: OperationServices,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { params, query } = request
  const account = request.caller?.account ?? 0
  const stream = await answerExport({
    ...{ db, params, query, mediaType, account },
    inTurn: (work) => turns.files.run(account, reply.raw, work),
    export: exports[id as keyof typeof exports] as Export<OperationId>,
  })
  request.answered = stream
  return sendStream(stream, status, reply)
}
