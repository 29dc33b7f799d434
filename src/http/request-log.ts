import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ProblemType } from '../contract/problem.ts'
import type { RequestSpan, Telemetry } from '../telemetry/telemetry.ts'
import { countRows } from './row-count.ts'

declare module 'fastify' {
  interface FastifyRequest {
    span?: RequestSpan
    /** Why it was refused. */
    problem?: ProblemType
    sqlState?: string | undefined
    /** How many rows its answer has, where the answer is rows. */
    rowsAnswered?: number | undefined
  }
}

/** Logs, counts and traces every request when it is over: names, counts and times, no values. */
export function watchRequests(app: FastifyInstance, { metrics, tracing }: Telemetry): void {
  if (tracing) {
    app.addHook('onRequest', async (request) => {
      if (isProbe(request)) return
      request.span = tracing.startRequest(request.headers)
      request.log = request.log.child({ trace_id: request.span.traceId })
    })
  }
  app.addHook('onResponse', async (request, reply) => {
    logRequest(request, reply)
    traceRequest(request, reply)
    metrics?.request({
      operation: operationOf(request)?.id ?? 'none',
      status: reply.statusCode,
      seconds: reply.elapsedTime / 1000,
      ...rowsOf(request, reply),
    })
  })
  app.addHook('onRequestAbort', async (request) => {
    request.log.info({ ...identity(request), aborted: true }, 'the client is gone')
  })
}

const operationOf = (request: FastifyRequest) => request.routeOptions.config.operation

/** Probes and scrapes come every few seconds. */
function isProbe(request: FastifyRequest): boolean {
  const operation = operationOf(request)
  return operation?.method === 'GET' && operation.scope === undefined
}

function identity(request: FastifyRequest) {
  return {
    account: request.caller?.account,
    operation: operationOf(request)?.id,
    method: request.method,
    client_request_id: clientRequestId(request),
  }
}

/** Probes that succeed are a matter for `debug`. */
function logRequest(request: FastifyRequest, reply: FastifyReply): void {
  const level = isProbe(request) && reply.statusCode < 400 ? 'debug' : 'info'
  request.log[level]({
    ...identity(request),
    rows: countRows(request.body),
    rows_answered: request.rowsAnswered,
    status: reply.statusCode,
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

function traceRequest(request: FastifyRequest, reply: FastifyReply): void {
  const operation = operationOf(request)
  request.span?.end(operation?.id ?? request.method, {
    'http.request.method': request.method,
    'http.route': operation?.path,
    'http.response.status_code': reply.statusCode,
    'pricewell.request_id': request.id,
    'pricewell.account': request.caller?.account,
    'pricewell.rows': countRows(request.body),
    'error.type': request.problem,
  })
}

/** A read of prices has rows in its payload, too: they are no rows written. A replayed answer wrote nothing. */
function rowsOf(request: FastifyRequest, reply: FastifyReply) {
  const isDone = reply.statusCode < 300 && !reply.hasHeader('idempotent-replayed')
  const isRead = operationOf(request)?.scope === 'read'
  return {
    rowsWritten: isDone && !isRead ? (countRows(request.body) ?? 0) : 0,
    rowsRead: isDone && isRead ? (request.rowsAnswered ?? 0) : 0,
  }
}
