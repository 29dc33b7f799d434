import type { Writable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ProblemType } from '../contract/problem.ts'
import { countRows } from '../contract/row-slices.ts'
import type { Telemetry } from '../telemetry/metrics.ts'
import type { RequestSpan } from '../telemetry/tracing.ts'

declare module 'fastify' {
  interface FastifyRequest {
    span?: RequestSpan
    /** Already logged, counted and traced. */
    isOver?: boolean
    /** Why the request was refused. */
    problem?: ProblemType
    sqlState?: string | undefined
    /** The status of the failure that broke off its response. */
    brokenOff?: number
    /** The rows in the response, if it has any; for a stream, those sent so far. */
    answered?: { rows?: number | undefined }
    /** The rows of the file read so far; undefined without a file, or if a job loads it. */
    file?: { rows: number }
  }
}

/** The client disconnected before it had its whole response. HTTP has no such status; nginx logs this one. */
const clientGoneStatus = 499

/** Logs, counts and traces every request when it is over: names, counts and times, but no row values. */
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
      if (!reply.raw.writableFinished) end(request, reply, request.brokenOff ?? clientGoneStatus)
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

/** Whether the request is a health check or a scrape, which come every few seconds. */
function isProbe(request: FastifyRequest): boolean {
  const operation = operationOf(request)
  return operation?.method === 'GET' && operation.scope === undefined
}

/** Logs successful health checks at `debug`. */
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

/** The client's own request id (`X-Request-Id`), if it is well-formed. */
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

/** Rows in the payload of a read are not written, and neither are those of a replayed request. */
function rowsOf(request: FastifyRequest, reply: FastifyReply, status: number) {
  const isDone = status < 300 && !reply.hasHeader('idempotent-replayed')
  const isRead = operationOf(request)?.isRead
  return {
    rowsWritten: isDone && !isRead ? (rowsBrought(request) ?? 0) : 0,
    rowsRead: isDone && isRead ? (request.answered?.rows ?? 0) : 0,
  }
}

/** Lines are dropped while the log's reader is this far behind: it is stopped, or its disk is slow. */
const waitingBytesMax = 4 * 1024 * 1024

/**
 * Writes log lines to `output`, but drops them while 4 MiB wait there for its reader. With pino's own destination, the
 * process would not end while the reader is stopped.
 */
export function logTo(output: Writable): { write(line: string): void } {
  return {
    write: (line) => {
      if (output.writableLength < waitingBytesMax) output.write(line)
    },
  }
}
