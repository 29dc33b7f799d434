import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { Stream } from '../contract/operation.ts'

/**
 * Answers with a stream, of which HEAD takes nothing, and which ends when the client has gone. What breaks off is no end,
 * for any client.
 */
export function sendStream(
  { contentType, open }: Stream,
  status: number,
  reply: FastifyReply,
): FastifyReply {
  const gone = new AbortController()
  const isHead = reply.request.method === 'HEAD'
  const pieces = open(gone.signal)
  const body = Readable.from(isHead ? [] : pieces)
  // Who has gone before the answer begins says so no more.
  if (isHead || reply.raw.destroyed) gone.abort()
  else reply.raw.once('close', () => gone.abort())
  body.once('error', () => resetWhereEndIsClose(reply))
  return reply.code(status).type(contentType).send(body)
}

/** HTTP/1.0 has no last chunk to miss: the end of the connection is that of the body, unless it is a reset. */
function resetWhereEndIsClose({ raw, request }: FastifyReply): void {
  if (raw.headersSent && request.raw.httpVersion === '1.0') raw.socket?.resetAndDestroy()
}
