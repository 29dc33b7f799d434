import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isFile, wrongMediaType } from '../contract/document.ts'
import { Problem, type RequestError } from '../contract/problem.ts'
import { invalidRequest, pointerSegment } from '../contract/row-errors.ts'
import { FeedBytes } from '../feeds/feed-bytes.ts'
import type { Authenticate } from './authentication.ts'
import { setHeaders } from './headers.ts'

/** What is known from the head of a request: refusals come before its body is read and before a connection is taken. */
export function firstChecks(app: FastifyInstance, authenticate: Authenticate, bodyMs: number) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    setHeaders(request, reply)
    limitArrival(app, request, reply, bodyMs)
    rejectUnknownCoding(request)
    await identifyCaller(request, authenticate)
    rejectAbsent(request)
    rejectUnacceptable(request)
    rejectUntakenBody(request)
    rejectEncoding(request)
    rejectWrongQuery(request)
  }
}

/** The parser takes any coding before `chunked`, and what it covers would be read as it is. */
function rejectUnknownCoding({ headers }: FastifyRequest): void {
  const coding = headers['transfer-encoding'] ?? 'chunked'
  if (coding.toLowerCase() !== 'chunked')
    throw new Problem('malformed-body', 'The only transfer coding that is understood is "chunked".')
}

async function identifyCaller(request: FastifyRequest, authenticate: Authenticate): Promise<void> {
  const { operation, isOpen } = request.routeOptions.config
  if (isOpen || (operation && operation.scope === undefined)) return
  request.caller = await authenticate(request)
  if (operation?.scope && !request.caller.scopes.has(operation.scope)) {
    throw new Problem('forbidden', `The token lacks the scope "${operation.scope}".`)
  }
}

/** Whatever its body is: nobody would read it. */
function rejectAbsent({ is404 }: FastifyRequest): void {
  if (is404) throw noSuchPath()
}

/** No operation, and nothing else, has the path. */
export function noSuchPath(): Problem {
  return new Problem('not-found', 'There is no such path.')
}

function rejectUnacceptable(request: FastifyRequest): void {
  const { accept } = request.headers
  const answers = request.routeOptions.config.operation?.answers
  if (accept === undefined || answers === undefined) return
  if (!chooseMediaType(accept, [...answers, 'application/problem+json']))
    throw new Problem('not-acceptable', `Send "Accept: ${answers[0]}", or no Accept header.`)
}

/** A body is there in time; that of a file may take as long as it goes on, until it is answered. */
function limitArrival(
  app: FastifyInstance,
  { raw, headers }: FastifyRequest,
  reply: FastifyReply,
  bodyMs: number,
): void {
  const hasBody = headers['transfer-encoding'] ?? headers['content-length']
  if (!hasBody) return
  const refuse = () => {
    // Nobody reads an empty body, so nobody says that it has ended.
    if (raw.complete) return
    // The rest of what was refused is read, so that its answer is; not for ever, be it a token that was missing.
    if (reply.raw.headersSent) return void raw.destroy()
    if (isFile(headers['content-type'])) return
    const late = Object.assign(new Error('the body is late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
    app.server.emit('clientError', late, raw.socket)
  }
  const timer = setTimeout(refuse, bodyMs).unref()
  for (const event of ['end', 'close']) raw.once(event, () => clearTimeout(timer))
}

/** A body that its operation does not take would be neither read nor validated. */
function rejectUntakenBody({ raw, headers, routeOptions }: FastifyRequest): void {
  const { operation } = routeOptions.config
  if (!operation || operation.hasBody) return
  // That of a GET passes, or it would be late in the end, in the middle of a long answer.
  if (operation.method === 'GET') return void raw.resume()
  if (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)
    throw new Problem('invalid-request', 'This operation takes no body.')
  // Many clients always name a type, and Fastify reads a body where one is named.
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

/** Whether the body says that it is compressed. */
export function isGzip({ headers }: FastifyRequest): boolean {
  return /^(x-)?gzip$/i.test(headers['content-encoding'] ?? '')
}

/** The query of a request target, as it came. The router takes `#` for its beginning, too. */
function rawQuery(url: string): string {
  const [, query = ''] = url.split(/[?#](.*)/s)
  return query
}

/** Refuses a query that is unreadable or has parameters that its operation does not have. */
function rejectWrongQuery(request: FastifyRequest): void {
  rejectUnreadable(request)
  rejectUnknown(request)
}

/** Refuses what no text of the service can be: invalid UTF-8, which the router takes as it is, and NUL. */
function rejectUnreadable({ url }: FastifyRequest): void {
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

/** A misspelt filter must not answer everything, nor a guessed option act as if it were understood. */
function rejectUnknown({ query, routeOptions }: FastifyRequest): void {
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

/** Refuses a query that names another list than the JSON body, or by another key: it names the list of a file. */
export function rejectOtherList({ query, body }: FastifyRequest): void {
  if (typeof body !== 'object' || body === null || body instanceof FeedBytes) return
  const { name, price_list_name = name, price_list_id } = body as Record<string, unknown>
  const faults = Object.entries({ price_list_name, price_list_id }).flatMap(
    ([key, named]): RequestError[] => {
      const given = (query as Record<string, unknown>)[key]
      // One that is given twice is told to be.
      if (typeof given !== 'string' || given === String(named)) return []
      const message = 'is for files: the JSON body names its list'
      return [{ pointer: `/query/${key}`, code: 'conflicting_keys', message }]
    },
  )
  if (faults.length > 0) throw invalidRequest(faults)
}

function isReadable(parameter: string): boolean {
  try {
    return !decodeURIComponent(parameter).includes('\0')
  } catch {
    return false
  }
}

/**
 * The media type that an Accept header likes best, of those that can be answered (the usual one first); undefined: none
 * is accepted. Without the header it is the usual one.
 */
export function chooseMediaType(
  accept: string | undefined,
  answers: readonly string[],
): string | undefined {
  if (accept === undefined) return answers[0]
  const ranges = accept.split(',').map(readRange)
  const rated = answers.map((mediaType) => ({ mediaType, quality: qualityOf(mediaType, ranges) }))
  const best = rated.reduce((best, one) => (one.quality > best.quality ? one : best))
  return best.quality > 0 ? best.mediaType : undefined
}

interface Range {
  type: string
  quality: number
}

function readRange(range: string): Range {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
  const [, quality = '1'] = parameters.map((one) => /^q=([\d.]+)$/.exec(one)).find(Boolean) ?? []
  return { type, quality: Number(quality) }
}

/** The quality of the most precise range that covers the media type; 0: none does. */
function qualityOf(mediaType: string, ranges: Range[]): number {
  for (const type of [mediaType, `${mediaType.split('/')[0]}/*`, '*/*']) {
    const range = ranges.find((one) => one.type === type)
    if (range) return range.quality
  }
  return 0
}
