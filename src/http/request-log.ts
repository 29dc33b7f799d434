import type { Writable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { countRows } from '../contract/incremental-validation.ts'
import type { ProblemType } from '../contract/problem.ts'
import type { RequestSpan, Telemetry } from '../telemetry/telemetry.ts'

declare module 'fastify' {
  interface FastifyRequest {
    span?: RequestSpan
    /** Logged, counted and traced already. */
    isOver?: boolean
    /** Why it was refused. */
    problem?: ProblemType
    sqlState?: string | undefined
    /** The status of a fault of ours that broke off its answer. */
    brokenOff?: number
    /** How many rows its answer has, where the answer is rows: of one that is sent piece by piece, those sent. */
    answered?: { rows?: number | undefined }
    /** The rows of its file that were read so far; undefined where there is none, or a job is to load it. */
    file?: { rows: number }
  }
}

/** The client went away before its answer was whole. No status of HTTP; logs of proxies use it. */
const clientGone = 499

/** Logs, counts and traces every request when it is over: names, counts and times, no values. */
export function watchRequests(app: FastifyInstance, { metrics, tracing }: Telemetry): void {
  const end = (request: FastifyRequest, reply: FastifyReply, status: number) => {
    if (request.isOver) return
    request.isOver = true
    logRequest(request, reply, status)
    traceRequest(request, status)
    const operation = operationOf(request)?.id ?? 'none'
    const seconds = reply.elapsedTime / 1000
    metrics?.request({ operation, status, seconds, ...rowsOf(request, reply, status) })
  }
  app.addHook('onRequest', async (request, reply) => {
    reply.raw.once('close', () => {
      if (!reply.raw.writableFinished) end(request, reply, request.brokenOff ?? clientGone)
    })
    if (!tracing || isProbe(request)) return
    request.span = tracing.startRequest(request.headers)
    request.log = request.log.child({ trace_id: request.span.traceId })
  })
  app.addHook('onResponse', async (request, reply) => end(request, reply, reply.statusCode))
}

const operationOf = (request: FastifyRequest) => request.routeOptions.config.operation

/** Probes and scrapes come every few seconds. */
function isProbe(request: FastifyRequest): boolean {
  const operation = operationOf(request)
  return operation?.method === 'GET' && operation.scope === undefined
}

/** Probes that succeed are a matter for `debug`. */
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

/** The client's own name for its request: only where it can be nothing but a name. */
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

/** A read of prices has rows in its payload, too: they are no rows written. A replayed answer wrote nothing. */
function rowsOf(request: FastifyRequest, reply: FastifyReply, status: number) {
  const isDone = status < 300 && !reply.hasHeader('idempotent-replayed')
  const isRead = operationOf(request)?.scope === 'read'
  return {
    rowsWritten: isDone && !isRead ? (rowsBrought(request) ?? 0) : 0,
    rowsRead: isDone && isRead ? (request.answered?.rows ?? 0) : 0,
  }
}

/** As many lines as a reader may be behind: it is stopped, or its disk is slow. */
const waitingBytesMax = 4 * 1024 * 1024

/**
 * Writes lines of the log to `output`. Those for which its reader leaves no room are lost: kept, they would take all the
 * memory there is.
 */
export function logTo(output: Writable): { write(line: string): void } {
  return {
    write: (line) => {
      if (output.writableLength < waitingBytesMax) output.write(line)
    },
  }
}
