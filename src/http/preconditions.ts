import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isFile, wrongMediaType } from '../contract/document.ts'
import { Problem } from '../contract/problem.ts'
import { chooseMediaType } from './accept.ts'
import type { Authenticate } from './authentication.ts'
import { setHeaders } from './headers.ts'
import { rejectWrongQuery } from './query.ts'

/** What is known from the head of a request: refusals come before its body is read and before a connection is taken. */
export function firstChecks(app: FastifyInstance, authenticate: Authenticate, bodyMs: number) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    setHeaders(request, reply)
    limitArrival(app, request, reply, bodyMs)
    rejectNoHost(request)
    rejectUnknownCoding(request)
    await identifyCaller(request, authenticate)
    rejectAbsent(request)
    rejectUnacceptable(request)
    rejectUntakenBody(request)
    rejectEncoding(request)
    rejectWrongQuery(request)
  }
}

function rejectNoHost({ raw }: FastifyRequest): void {
  if (raw.headers.host === undefined && raw.httpVersion === '1.1')
    throw new Problem('malformed-body', 'The request has no Host header.')
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
