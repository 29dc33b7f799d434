import type { Writable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ProblemType } from '../contract/problem.ts'
import { countRows } from '../contract/row-slices.ts'
import type { RequestSpan, Telemetry } from '../telemetry/telemetry.ts'

declare module 'fastify' {
  interface FastifyRequest {
    span?: RequestSpan
    /** It was logged, counted and traced. */
    isOver?: boolean
    /** Why it was refused. */
    problem?: ProblemType
    sqlState?: string | undefined
    /** The status of the failure that broke off its response. */
    brokenOff?: number
    /** The rows of its response, if that is rows; of a stream, those that were sent. */
    answered?: { rows?: number | undefined }
    /** The rows of its file that were read so far; undefined without a file, or if a job loads it. */
    file?: { rows: number }
  }
}

/** The client went away before it had its whole response. HTTP has no such status; nginx logs this one. */
const clientGone = 499

/** Logs, counts and traces every request when it is over: names, counts and times, no values of rows. */
export function logRequests(app: FastifyInstance, { metrics, tracing }: Telemetry): void {
  const end = (request: FastifyRequest, reply: FastifyReply, status: number) => {
    if (request.isOver) return
    request.isOver = true
    logRequest(request, reply, status)
    traceRequest(request, status)
    const operation = operationOf(request)?.id ?? 'none'
    const seconds = reply.elapsedTime / 1000
    metrics?.request({ operation, status, seconds, ...rowsOf(request, reply, status) })
  }
  app.addHook('onRequest', (request, reply, done) => {
    reply.raw.once('close', () => {
      if (!reply.raw.writableFinished) end(request, reply, request.brokenOff ?? clientGone)
    })
    if (tracing && !isProbe(request)) {
      request.span = tracing.startRequest(request.headers)
      request.log = request.log.child({ trace_id: request.span.traceId })
    }
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    end(request, reply, reply.statusCode)
    done()
  })
}

const operationOf = (request: FastifyRequest) => request.routeOptions.config.operation

/** Whether it is a health check or a scrape, which come every few seconds. */
function isProbe(request: FastifyRequest): boolean {
  const operation = operationOf(request)
  return operation?.method === 'GET' && operation.scope === undefined
}

/** Health checks that succeed are logged at `debug`. */
function logRequest(request: FastifyRequest, reply: FastifyReply, status: number): void {
  request.log[isProbe(request) && status < 400 ? 'debug' : 'info']({
    account: request.caller?.account,
    operation: operationOf(request)?.id,
    method: request.method,
    client_request_id: clientRequestId(request),
    rows: rowsBrought(request),
    rows_answered: request.answered?.rows,
    status,
    problem: request.problem,
    sqlstate: request.sqlState,
    ms: Math.round(reply.elapsedTime),
  })
}

/** The id that the client has given to its request, if it has the form of one. */
function clientRequestId({ headers }: FastifyRequest): string | undefined {
  const id = headers['x-request-id']
  return typeof id === 'string' && /^[\w.-]{1,64}$/.test(id) ? id : undefined
}

function traceRequest(request: FastifyRequest, status: number): void {
  const operation = operationOf(request)
  request.span?.end(operation?.id ?? request.method, {
    'http.request.method': request.method,
    'http.route': operation?.path,
    'http.response.status_code': status,
    'pricewell.request_id': request.id,
    'pricewell.account': request.caller?.account,
    'pricewell.rows': rowsBrought(request),
    'error.type': request.problem,
  })
}

function rowsBrought({ file, body }: FastifyRequest): number | undefined {
  return file?.rows ?? countRows(body)
}

/** The rows in the payload of a read are not written, nor are those of a replayed request. */
function rowsOf(request: FastifyRequest, reply: FastifyReply, status: number) {
  const isDone = status < 300 && !reply.hasHeader('idempotent-replayed')
  const isRead = operationOf(request)?.isRead
  return {
    rowsWritten: isDone && !isRead ? (rowsBrought(request) ?? 0) : 0,
    rowsRead: isDone && isRead ? (request.answered?.rows ?? 0) : 0,
  }
}

/** Lines are dropped while the reader of the log is so far behind: it is stopped, or its disk is slow. */
const waitingBytesMax = 4 * 1024 * 1024

/**
 * Writes lines of the log to `output`, as long as not too much waits there for its reader. With pino's own destination
 * the process does not end while the reader is stopped.
 */
export function logTo(output: Writable): { write(line: string): void } {
  return {
    write: (line) => {
      if (output.writableLength < waitingBytesMax) output.write(line)
    },
  }
}
