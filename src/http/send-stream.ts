import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { Stream } from '../contract/operation.ts'
import { ClientStalled } from '../contract/send-pieces.ts'
import { noteBrokenAnswer } from './problem-reply.ts'

/**
 * Answers with a stream, of which HEAD takes nothing, and which ends when the client has gone. A client can tell an answer
 * that broke off from a whole one. A fault of ours is logged and counted.
 */
export function sendStream(
  { contentType, open }: Stream,
  status: number,
  reply: FastifyReply,
): FastifyReply {
  const gone = new AbortController()
  const isHead = reply.request.method === 'HEAD'
  const pieces = open(gone.signal)
  // An error of pieces that are a stream already breaks off the answer at once, however slow its client is.
  const body = !isHead && pieces instanceof Readable ? pieces : Readable.from(isHead ? [] : pieces)
  // Who has gone before the answer begins says so no more.
  if (isHead || reply.raw.destroyed) gone.abort()
  else reply.raw.once('close', () => gone.abort())
  body.once('error', (error) => {
    if (!reply.raw.headersSent || gone.signal.aborted) return
    resetWhereEndIsClose(reply)
    if (!(error instanceof ClientStalled)) noteBrokenAnswer(error, reply.request)
  })
  return reply.code(status).type(contentType).send(body)
}

/** HTTP/1.0 has no last chunk to miss: the end of the connection is that of the body, unless it is a reset. */
function resetWhereEndIsClose({ raw, request }: FastifyReply): void {
  if (request.raw.httpVersion === '1.0') raw.socket?.resetAndDestroy()
}
