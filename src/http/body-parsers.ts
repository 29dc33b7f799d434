import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest, RequestPayload } from 'fastify'
import type { Limits } from '../config.ts'
import { fileTypes, isFile, operations, wrongMediaType } from '../contract/document.ts'
import { parseJson, parseRows } from '../contract/json.ts'
import { Problem } from '../contract/problem.ts'
import { atMost, FeedBytes, gunzip, isGzipFault } from '../feeds/feed-bytes.ts'
import { upserts } from '../feeds/feeds.ts'
import { hashBody } from './idempotency.ts'
import { isGzip } from './preconditions.ts'
import { bodyTooLarge } from './problem-reply.ts'

declare module 'fastify' {
  interface FastifyRequest {
    bodyHash?: Buffer
  }
}

/** Parses bodies of the media types in the contract, each only for the operations that declare it. */
export function readBodies(app: FastifyInstance, limits: Limits): void {
  // In this order, because the decoded bytes are what takes memory.
  app.addHook('preParsing', decodeBody)
  app.addHook('preParsing', countChunks)
  app.removeAllContentTypeParsers()
  for (const mediaType of new Set(operations.flatMap(({ mediaTypes }) => mediaTypes))) {
    if (fileTypes.includes(mediaType)) addFileParser(app, mediaType, limits)
    else addJsonParser(app, mediaType, limits)
  }
}

/** Objects and arrays allowed in a body for each row of `rowsMax`. */
const containersARow = 10
/** With a low `rowsMax`, each row may have more. */
const containersMin = 1_000_000

function addJsonParser(app: FastifyInstance, mediaType: string, { rowsMax }: Limits): void {
  const containersMax = Math.max(containersMin, containersARow * rowsMax)
  app.addContentTypeParser(
    mediaType,
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      rejectMediaType(request, mediaType)
      if (request.headers['idempotency-key']) request.bodyHash = hashBody(body)
      const reserve = (bytes: number) => request.heldBody?.grow(bytes)
      return (isUpsert(request) ? parseRows : parseJson)(body, { containersMax, reserve })
    },
  )
}

/** Whether the operation parses the rows itself as it writes them. */
function isUpsert({ routeOptions }: FastifyRequest): boolean {
  return (routeOptions.config.operation?.id ?? '') in upserts
}

/** Leaves the file unread: the operation reads it as it writes the rows. */
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

/** Refuses a media type that the operation does not declare, because the body would not be validated. */
function rejectMediaType({ routeOptions }: FastifyRequest, mediaType: string): void {
  const { operation } = routeOptions.config
  if (operation && !operation.mediaTypes.includes(mediaType)) throw wrongMediaType(operation)
}

/**
 * Decompresses a JSON body as it arrives, so that later stages see decoded bytes. Files are decompressed by
 * `FeedBytes`. Not async: the body must be read before its first chunk is emitted.
 */
function decodeBody(
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
  // Fastify compares this with the Content-Length. Node has checked the encoded bytes already.
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
    // Reads the rest of a refused body so that the client sees the refusal.
    raw.resume()
  }
}

/**
 * Takes room in the memory budget for bytes that were not announced: those of a chunked or compressed body, or of a
 * slow one that gave up its room. Not async: the body must be read before its first chunk is emitted.
 */
function countChunks<Payload extends NodeJS.EventEmitter>(
  { heldBody }: FastifyRequest,
  _reply: FastifyReply,
  payload: Payload,
  done: (error: null, payload: Payload) => void,
): void {
  let bytes = 0
  const count = (chunk: Buffer) => {
    bytes += chunk.length
    try {
      if (heldBody && heldBody.bytes < bytes) heldBody.grow(bytes)
    } catch (error) {
      payload.off('data', count).emit('error', error)
    }
  }
  if (heldBody) payload.on('data', count)
  done(null, payload)
}
