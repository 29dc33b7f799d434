import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest, RequestPayload } from 'fastify'
import type { Limits } from '../config.ts'
import { fileTypes, isFile, operations, wrongMediaType } from '../contract/document.ts'
import { parseJson } from '../contract/json.ts'
import { Problem } from '../contract/problem.ts'
import { atMost, FeedBytes, gunzip, isGzipFault } from '../feeds/feed-bytes.ts'
import { hashBody } from './idempotency.ts'
import type { Admission } from './overload/admission-control.ts'
import { isGzip } from './preconditions.ts'
import { bodyTooLarge } from './problem-reply.ts'

type Refusal = Admission['refusal']

/** Bodies are read as the types that the contract declares, each by the operations that declare it. */
export function addBodyParsers(app: FastifyInstance, limits: Limits, refusal: Refusal): void {
  app.removeAllContentTypeParsers()
  for (const mediaType of new Set(operations.flatMap(({ mediaTypes }) => mediaTypes))) {
    if (fileTypes.includes(mediaType)) addFileParser(app, mediaType, limits)
    else addJsonParser(app, mediaType, limits, refusal)
  }
}

/** Objects and arrays of a body for each row that it may have, on average. */
const containersARow = 10
/** Where a call takes few rows, they may have many. */
const containersMin = 1_000_000

function addJsonParser(
  app: FastifyInstance,
  mediaType: string,
  { rowsMax }: Limits,
  refusal: Refusal,
): void {
  const containersMax = Math.max(containersMin, containersARow * rowsMax)
  app.addContentTypeParser(
    mediaType,
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      rejectMediaType(request, mediaType)
      rejectTooMany(request, refusal)
      if (request.headers['idempotency-key']) request.bodyHash = hashBody(body)
      const reserve = (bytes: number) => request.heldBody?.grow(bytes)
      return parseJson(body, { containersMax, reserve })
    },
  )
}

/** A file is not read here but as its operation takes the rows. */
function addFileParser(
  app: FastifyInstance,
  mediaType: string,
  { feedBytesMax: bytesMax }: Limits,
): void {
  app.addContentTypeParser(mediaType, async (request: FastifyRequest) => {
    rejectMediaType(request, mediaType)
    return new FeedBytes({
      stream: request.raw,
      mediaType,
      isGzip: isGzip(request),
      bytesMax,
    })
  })
}

/** Many may wait by the time that a body is there: to read one whose turn does not come is work taken from the others. */
function rejectTooMany({ routeOptions, caller }: FastifyRequest, refusal: Refusal): void {
  const { operation } = routeOptions.config
  const refused = operation && caller && refusal(operation, caller.account)
  if (refused) throw refused
}

/** A body of a type that its operation does not declare would not be validated. */
function rejectMediaType({ routeOptions }: FastifyRequest, mediaType: string): void {
  const { operation } = routeOptions.config
  if (operation && !operation.mediaTypes.includes(mediaType)) throw wrongMediaType(operation)
}

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
