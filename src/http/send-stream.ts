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
  reply.raw.once('close', () => gone.abort())
  return reply
    .code(status)
    .headers(headers)
    .type(contentType)
    .send(Readable.from(open(gone.signal)))
}
