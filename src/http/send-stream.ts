import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { Stream } from '../contract/operation.ts'

/** Answers with a stream, which ends when the client has gone. */
export function sendStream(
  { contentType, open, headers }: Stream,
  status: number,
  reply: FastifyReply,
): FastifyReply {
  const gone = new AbortController()
  const body = Readable.from(open(gone.signal))
  // Who has gone before the answer begins says so no more.
  if (reply.raw.destroyed) gone.abort()
  else reply.raw.once('close', () => gone.abort())
  return reply.code(status).headers(headers).type(contentType).send(body)
}
