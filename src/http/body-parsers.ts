import type { FastifyInstance, FastifyRequest } from 'fastify'
import { fileTypes, operations, wrongMediaType } from '../contract/document.ts'
import { parseJson } from '../contract/json.ts'
import { FeedBytes } from '../feeds/feed-bytes.ts'
import type { Limits } from '../limits.ts'
import { hashBody } from './idempotency.ts'
import type { Admission } from './overload/admission-control.ts'
import { isGzip } from './preconditions.ts'

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
