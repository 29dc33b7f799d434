import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest, RequestPayload } from 'fastify'
import { isFile } from '../contract/document.ts'
import { Problem } from '../contract/problem.ts'
import { atMost, gunzip, isGzipFault } from '../feeds/gunzip.ts'
import { isGzip } from './preconditions.ts'
import { bodyTooLarge } from './problem-reply.ts'

/**
 * Decodes a compressed JSON body while it arrives: what reads a body sees, counts and hashes the decoded bytes. Not async:
 * a body is read before its first chunk is given out. Files decode themselves.
 */
export function decodeBody(
  request: FastifyRequest,
  _reply: FastifyReply,
  payload: RequestPayload,
  done: (error: null, payload: RequestPayload) => void,
): void {
  const { headers, routeOptions } = request
  const hasBody = routeOptions.config.operation?.hasBody
  const isPlain = !hasBody || !isGzip(request) || isFile(headers['content-type'])
  done(null, isPlain ? payload : decodedBody(request))
}

function decodedBody(request: FastifyRequest): RequestPayload {
  const body: RequestPayload = Readable.from(decoded(request), { objectMode: false })
  // Fastify compares this with the Content-Length; Node has checked the bytes that arrive.
  body.receivedEncodedLength = Number(request.headers['content-length'] ?? 0)
  // Decoding stops when the body is refused.
  return body.once('error', () => body.destroy())
}

async function* decoded(request: FastifyRequest): AsyncGenerator<Buffer> {
  const { raw, routeOptions } = request
  const tooLarge = () => bodyTooLarge(request)
  let bytes = 0
  try {
    for await (const chunk of gunzip(atMost(routeOptions.bodyLimit, raw, tooLarge))) {
      bytes += chunk.length
      if (bytes > routeOptions.bodyLimit) throw tooLarge()
      yield chunk
    }
  } catch (error) {
    if (!isGzipFault(error)) throw error
    throw new Problem('malformed-body', 'The body is not whole and valid gzip.', { cause: error })
  } finally {
    // The rest of what was refused passes, so that the client reads why.
    raw.resume()
  }
}
