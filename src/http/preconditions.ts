import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { wrongMediaType } from '../contract/document.ts'
import { Problem, type RequestError } from '../contract/problem.ts'
import { invalidRequest, pointerSegment } from '../contract/row-errors.ts'
import { FeedBytes } from '../feeds/feed-bytes.ts'

/** Refuses what the request line and headers alone rule out, before the body is read or a connection is taken. */
export function checkPreconditions(
  request: FastifyRequest,
  _reply: FastifyReply,
  done: () => void,
): void {
  rejectUnknownCoding(request)
  if (request.is404) throw noSuchPath()
  rejectUnacceptable(request)
  rejectUntakenBody(request)
  rejectEncoding(request)
  if (/[?#]/.test(request.url)) {
    rejectUnreadableQuery(request)
    rejectUnknownParameters(request)
  }
  done()
}

/** Node accepts any coding before `chunked` and passes on the bytes undecoded. */
function rejectUnknownCoding({ headers }: FastifyRequest): void {
  const coding = headers['transfer-encoding'] ?? 'chunked'
  if (coding.toLowerCase() !== 'chunked')
    throw new Problem('malformed-body', 'The only transfer coding that is understood is "chunked".')
}

/** The problem for a path that does not exist. */
export function noSuchPath(): Problem {
  return new Problem('not-found', 'There is no such path.')
}

/** A path that no operation, page or document has. */
const absentPath = '/absent'

/** Treats a path that cannot be decoded, or whose id is too long, like one that does not exist. */
export function routeBadPath(app: FastifyInstance, { raw }: FastifyRequest, reply: FastifyReply) {
  raw.url = absentPath
  app.routing(raw, reply.raw)
}

function rejectUnacceptable(request: FastifyRequest): void {
  const { accept } = request.headers
  const answers = request.routeOptions.config.operation?.answers
  if (accept === undefined || answers === undefined) return
  if (!chooseMediaType(request, [...answers, 'application/problem+json']))
    throw new Problem('not-acceptable', `Send "Accept: ${answers[0]}", or no Accept header.`)
}

/** Refuses a body that the operation does not take, because it would not be validated. */
function rejectUntakenBody({ raw, headers, routeOptions }: FastifyRequest): void {
  const { operation } = routeOptions.config
  if (!operation || operation.hasBody) return
  // Discards the body of a GET; left unread, it would time out in the middle of a long response.
  if (operation.method === 'GET') return void raw.resume()
  if (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)
    throw new Problem('invalid-request', 'This operation takes no body.')
  // Many clients always send a Content-Type, and Fastify reads a body if there is one.
  delete headers['content-type']
}

/** Bodies are UTF-8, plain or compressed with gzip. */
function rejectEncoding(request: FastifyRequest): void {
  const { headers, routeOptions } = request
  const { operation } = routeOptions.config
  if (!operation?.hasBody) return
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(headers['content-type'] ?? '')?.[1]
  const encoding = headers['content-encoding'] ?? 'identity'
  const isTaken = encoding.toLowerCase() === 'identity' || isGzip(request)
  if ((charset && !/^utf-?8$/i.test(charset)) || !isTaken) throw wrongMediaType(operation)
}

/** Whether the body is compressed, according to its Content-Encoding (`gzip` or `x-gzip`). */
export function isGzip({ headers }: FastifyRequest): boolean {
  return /^(x-)?gzip$/i.test(headers['content-encoding'] ?? '')
}

/** The query as sent. The router also accepts `#` as its start. */
function rawQuery(url: string): string {
  const [, query = ''] = url.split(/[?#](.*)/s)
  return query
}

/** Refuses invalid UTF-8, which the router lets through, and NUL, which the database does not store. */
function rejectUnreadableQuery({ url }: FastifyRequest): void {
  const query = rawQuery(url)
  if (!query.includes('%')) return
  const faults = query
    .split('&')
    .filter((parameter) => !isReadable(parameter))
    .map((parameter): RequestError => {
      const [name = ''] = parameter.split('=')
      const message = 'must be UTF-8 without NUL, percent-encoded'
      return { pointer: `/query/${pointerSegment(name)}`, code: 'format', message }
    })
  if (faults.length > 0) throw invalidRequest(faults)
}

/** Refuses unknown parameters: a misspelled filter would return everything. */
function rejectUnknownParameters({ query, routeOptions }: FastifyRequest): void {
  const { queryNames } = routeOptions.config.operation ?? {}
  if (queryNames === undefined) return
  const faults = Object.keys(query as object)
    .filter((name) => !queryNames.includes(name))
    .map((name): RequestError => {
      const message = 'is not a query parameter of this operation'
      return { pointer: `/query/${pointerSegment(name)}`, code: 'unknown_key', message }
    })
  if (faults.length > 0) throw invalidRequest(faults)
}

/**
 * Throws `invalid-request` if the query contradicts the JSON body: parameters that a body has as well are for files.
 */
export function rejectContradiction({ query, body }: FastifyRequest): void {
  if (typeof body !== 'object' || body === null || body instanceof FeedBytes) return
  if (Array.isArray(body)) return
  const parameters = query as Record<string, unknown>
  if (Object.keys(parameters).length === 0) return
  const { name, price_list_name = name, price_list_id } = body as Record<string, unknown>
  const { observed_at, on_stale } = { ...parameters, ...body } as Record<string, unknown>
  const own = { price_list_name, price_list_id, observed_at, on_stale }
  const faults = Object.entries(own).flatMap(([key, value]): RequestError[] => {
    const given = parameters[key]
    // A repeated parameter gets an error of its own.
    if (typeof given !== 'string' || given === String(value)) return []
    const message = 'is for files: the JSON body has its own'
    return [{ pointer: `/query/${key}`, code: 'conflicting_keys', message }]
  })
  if (faults.length > 0) throw invalidRequest(faults)
}

/** Throws `invalid-request` if the query requests a byte order mark for anything but CSV. */
export function rejectByteOrderMark({ query }: FastifyRequest, mediaType: string): void {
  if ((query as { bom?: string }).bom !== 'true' || mediaType === 'text/csv') return
  const message = 'is for CSV (`Accept: text/csv`)'
  throw invalidRequest([{ pointer: '/query/bom', code: 'not_allowed', message }])
}

function isReadable(parameter: string): boolean {
  try {
    return !decodeURIComponent(parameter).includes('\0')
  } catch {
    return false
  }
}

/** Response media types have this parameter, and an Accept header may name it. */
const charset = '; charset=utf-8'

/**
 * The media type in `answers` that the Accept header prefers, or undefined if it accepts none of them. Without the
 * header, the first one, which is the usual one.
 */
export function chooseMediaType(
  request: Pick<FastifyRequest, 'accepts' | 'headers'>,
  answers: readonly string[],
): string | undefined {
  if (request.headers.accept === undefined) return answers[0]
  const chosen = request.accepts().type(answers.map((type) => type + charset))
  return typeof chosen === 'string' ? chosen.slice(0, -charset.length) : undefined
}
