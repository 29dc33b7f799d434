import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { Stream } from '../contract/operation.ts'
import { ClientStalled } from '../contract/send-pieces.ts'
import { noteBrokenAnswer } from './problem-reply.ts'

/**
 * Answers a stream, which ends when the client is gone; for HEAD it is not read. A failure breaks off the response in a way
 * that the client notices, and is logged and counted.
 */
export function sendStream(
  { contentType, open }: Stream,
  status: number,
  reply: FastifyReply,
): FastifyReply {
  const gone = new AbortController()
  const isHead = reply.request.method === 'HEAD'
  const pieces = open(gone.signal)
  // A Readable is sent as it is: its error breaks off the response at once, however slow the client is.
  const body = !isHead && pieces instanceof Readable ? pieces : Readable.from(isHead ? [] : pieces)
  // A client that has gone already causes no `close` any more.
  if (isHead || reply.raw.destroyed) gone.abort()
  else reply.raw.once('close', () => gone.abort())
  body.once('error', (error) => {
    if (!reply.raw.headersSent || gone.signal.aborted) return
    resetWhereEndIsClose(reply)
    if (!(error instanceof ClientStalled)) noteBrokenAnswer(error, reply.request)
  })
  return reply.code(status).type(contentType).send(body)
}

/** HTTP/1.0 has no chunks: the end of the connection would look like the end of the body, unless it is a reset. */
function resetWhereEndIsClose({ raw, request }: FastifyReply): void {
  if (request.raw.httpVersion === '1.0') raw.socket?.resetAndDestroy()
}
