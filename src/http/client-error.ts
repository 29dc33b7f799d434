import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { Problem, problemTypes, unavailable } from '../contract/problem.ts'
import { protectiveHeaders } from './headers.ts'
import { endingCode } from './overload/upload-deadlines.ts'
import { problemBody } from './problem-reply.ts'

interface ParserError {
  code?: string
  /** What had arrived when the parser gave up. */
  rawPacket?: unknown
}

interface WritableSocket {
  writable: boolean
  /** Node's own note of the answer that is on its way. */
  _httpMessage?: ServerResponse | null
  end: (text: string) => void
  destroy: () => void
  resetAndDestroy: () => void
}

/** Answers behind which a refusal is told. */
const awaited = new WeakSet<ServerResponse>()

/** What Node refuses before there is a request (bad HTTP, headers too large) is answered like any other problem. */
export function answerUnreadable(
  this: FastifyInstance,
  error: ParserError,
  socket: WritableSocket,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const answer = socket._httpMessage
  // A request that is whole is done, whatever comes behind it: what is told of that comes behind its answer.
  if (answer?.req.complete) {
    if (awaited.has(answer)) return
    awaited.add(answer)
    answer.once('finish', () => {
      if (socket.writable) answerUnreadable.call(this, error, socket)
    })
    return
  }
  const problem = problemOf(error)
  // Written now, it would stand in the middle of that answer.
  if (answer?.headersSent) socket.resetAndDestroy()
  else socket.end(refusalText(this, problem))
}

/** The bytes of an answer after which the connection closes. */
function refusalText(app: FastifyInstance, problem: Problem): string {
  const { id, status, headers, body } = bareAnswer(problem)
  app.log.info({ request_id: id, status, problem: problem.type })
  const all = Object.entries({ ...headers, connection: 'close' })
  const lines = all.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}\r\n${body}`
}

/** Who was refused a tunnel has this long to read why: of that connection nothing else is watched any more. */
const readMs = 500

/** Node would close the connection of who asks for a tunnel without a word. */
export function refuseTunnels(app: FastifyInstance): void {
  const problem = new Problem('malformed-body', 'This is no proxy: CONNECT is not understood.')
  app.server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => socket.destroy()).end(refusalText(app, problem))
    setTimeout(() => socket.destroy(), readMs).unref()
  })
}

/** An expectation other than `100-continue`, which Node would answer 417 without a body, is a problem like any other. */
export function refuseExpectations(app: FastifyInstance): void {
  app.server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const detail = 'The only Expect header that is understood is "100-continue".'
    const { id, status, headers, body } = bareAnswer(new Problem('malformed-body', detail))
    app.log.info({ request_id: id, status, problem: 'malformed-body' })
    response.writeHead(status, { ...headers, connection: 'close' }).end(body)
  })
}

function problemOf(cause: ParserError): Problem {
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

/** An answer but for the id of its request. */
interface Template {
  status: number
  headers: Record<string, string | number>
  beforeId: string
  afterId: string
}

/** Of problems that are given again and again: making an answer anew takes a tenth of a refusal. */
const templates = new WeakMap<Problem, Template>()

/** A problem as the answer to a request that no route has: what Fastify would have done for it is done here. */
export function bareAnswer(problem: Problem): {
  id: string
  status: number
  headers: Record<string, string | number>
  body: string
} {
  const id = randomUUID()
  const { status, headers, beforeId, afterId } = templates.get(problem) ?? addTemplate(problem)
  return { id, status, headers: { ...headers, 'x-request-id': id }, body: beforeId + id + afterId }
}

function addTemplate(problem: Problem): Template {
  const id = randomUUID()
  const body = JSON.stringify(problemBody(problem, id))
  const [beforeId = '', afterId = ''] = body.split(id)
  const headers = {
    ...protectiveHeaders,
    ...problem.options.headers,
    'content-type': 'application/problem+json',
    'content-length': Buffer.byteLength(body),
  }
  const template = { status: problemTypes[problem.type].status, headers, beforeId, afterId }
  templates.set(problem, template)
  return template
}

/**
 * Tells answers that wait for others on their connection that the client is gone, as the first one is told. Node does
 * not before 24.21: what is counted until an answer's `close` would be counted for good.
 */
export function closeQueuedAnswers(server: Server): void {
  const queues = new WeakMap<Socket, Set<ServerResponse>>()
  const queueOf = (socket: Socket) => {
    const found = queues.get(socket)
    if (found) return found
    const queue = new Set<ServerResponse>()
    queues.set(socket, queue)
    socket.once('close', () => {
      for (const answer of queue) answer.destroy().emit('close')
    })
    return queue
  }
  server.prependListener('request', ({ socket }, answer: ServerResponse) => {
    if (answer.socket) return
    const queue = queueOf(socket).add(answer)
    answer.once('close', () => queue.delete(answer))
  })
}
