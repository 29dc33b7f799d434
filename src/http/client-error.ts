import { randomUUID } from 'node:crypto'
import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { Problem, problemBody, problemTypes, unavailable } from '../contract/problem.ts'
import { helpLink, protectiveHeaders } from './headers.ts'
import { endingCode } from './overload/upload-deadlines.ts'

interface ClientError {
  code?: string
  /** The bytes that the parser was reading when it gave up. */
  rawPacket?: unknown
}

/** The response to the last request on each connection. */
const responses = new WeakMap<object, ServerResponse>()

/** Records the last response on each connection for `answerClientError`. */
export function trackResponses(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    responses.set(request.raw.socket, reply.raw)
    done()
  })
}

/**
 * Responds to bad HTTP, oversized headers and late requests with a problem, and closes the connection. If an earlier,
 * complete request on the connection is still unanswered, that is answered instead and the connection closes without a
 * problem.
 */
export function answerClientError(
  this: FastifyInstance,
  error: ClientError,
  socket: Pick<Socket, 'writable' | 'destroy' | 'resetAndDestroy' | 'end'>,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const response = responses.get(socket)
  const isUnderWay = response !== undefined && !response.writableFinished
  if (isUnderWay && response.req.complete) {
    if (!response.headersSent) response.setHeader('connection', 'close')
    return
  }
  // A problem would end up in the middle of this response, or of one queued before it.
  if (isUnderWay && (response.headersSent || !response.socket)) socket.resetAndDestroy()
  else socket.end(responseText(this, toProblem(error)))
}

/** The raw final response on a connection, for a request that Fastify does not know. */
function responseText({ log, basePath }: FastifyInstance, problem: Problem): string {
  const id = randomUUID()
  const { status } = problemTypes[problem.type]
  log.info({ request_id: id, status, problem: problem.type })
  const body = JSON.stringify(problemBody(problem, id))
  const headers = {
    ...protectiveHeaders,
    ...problem.options.headers,
    'x-request-id': id,
    link: helpLink(basePath, problem.type),
    'content-type': 'application/problem+json',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`
}

function toProblem(cause: ClientError): Problem {
  if (cause.code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new Problem('malformed-body', 'The request did not arrive in time.', { cause })
  if (cause.code === endingCode) return unavailable('The service is shutting down.', 1, cause)
  if (cause.code !== 'HPE_HEADER_OVERFLOW')
    return new Problem('malformed-body', 'The request is not valid HTTP.', { cause })
  const { rawPacket } = cause
  const begin = Buffer.isBuffer(rawPacket) ? rawPacket.toString('latin1', 0, 16_384) : ''
  const isRequestLine = /^[A-Z]+ [^\r\n]*$/.test(begin)
  return isRequestLine
    ? new Problem('uri-too-long', 'The request line is over 16 KB.', { cause })
    : new Problem('headers-too-large', 'The headers are over 16 KB.', { cause })
}
