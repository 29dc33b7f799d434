import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import fastify, { type FastifyInstance, LogController } from 'fastify'
import type { Config } from './config.ts'
import type { Context } from './contract/operation.ts'
import { Problem, problemTypes } from './contract/problem.ts'
import { loggableError } from './database/loggable-error.ts'
import type { Database } from './database/pool.ts'
import { createAuthenticate } from './http/authentication.ts'
import { registerDocumentation } from './http/documentation.ts'
import { answerBadPath, registerContract } from './http/plugin.ts'
import { problemBody } from './http/problem-reply.ts'
import { serviceHandlers } from './http/service.ts'

export interface AppServices extends Context {
  config: Config
  /** For requests that write. */
  db: Database
  /** For requests that only read. */
  readingDb: Database
  /** For requests that bring or take a file. */
  filesDb: Database
  /** For answers that are sent while they are read. */
  sendingDb: Database
  /** For the readiness check alone. */
  healthDb: Database
  isStopping: () => boolean
}

/** Headers are small: who takes longer holds a socket and sends nothing. */
const headersMs = 15_000

/** The HTTP interface of the service, ready to listen. */
export async function buildApp({
  config,
  db,
  readingDb,
  filesDb,
  sendingDb,
  healthDb,
  isStopping,
  ...context
}: AppServices): Promise<FastifyInstance> {
  const authenticate = createAuthenticate(config, context.jwtSecret)
  const app = fastify({
    logger: {
      level: config.logLevel,
      stream: process.stderr,
      serializers: { err: loggableError },
    },
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => randomUUID(),
    bodyLimit: config.limits.bodyBytesMax,
    // A file takes as long as it goes on; the other bodies have their time from the hook for all requests.
    requestTimeout: fileArrivalMs,
    connectionTimeout: config.load.arrivalMs + 30_000,
    keepAliveTimeout: 65_000,
    forceCloseConnections: 'idle',
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 300 },
    clientErrorHandler: answerUnreadable,
    // Node would answer a request without Host itself, with no body; the hook for all requests does.
    http: {
      requireHostHeader: false,
      headersTimeout: Math.min(headersMs, config.load.arrivalMs),
      connectionsCheckingInterval: 5000,
    },
    frameworkErrors: answerBadPath(authenticate),
    return503OnClosing: true,
  })
  app.addHook('onResponse', async (request, reply) => {
    request.log.info({
      account: request.caller?.account,
      operation: request.routeOptions.config.operation?.id,
      method: request.method,
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime),
    })
  })
  await registerDocumentation(app)
  const service = serviceHandlers({ db: healthDb, isStopping })
  const databases = { db, readingDb, sendingDb, filesDb }
  await registerContract(app, { ...databases, context, service, config }, authenticate)
  return app
}

const fileArrivalMs = 3_600_000

/** What Node refuses before there is a request (bad HTTP, headers too large) is answered like any other problem. */
function answerUnreadable(
  error: { code?: string },
  socket: { writable: boolean; end: (text: string) => void; destroy: () => void },
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const isLate = error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
  const detail = isLate ? 'The request did not arrive in time.' : 'The request is not valid HTTP.'
  const problem = new Problem('malformed-body', detail, { cause: error })
  const { status } = problemTypes[problem.type]
  const body = JSON.stringify(problemBody(problem, randomUUID()))
  const headers = `Content-Type: application/problem+json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close`
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${headers}\r\n\r\n${body}`)
}
