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
  /** For the readiness check alone. */
  healthDb: Database
  isStopping: () => boolean
}

/** The HTTP interface of the service, ready to listen. */
export async function buildApp({
  config,
  db,
  readingDb,
  filesDb,
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
    // A file may take as long as it goes on; other bodies have their own limit of time.
    requestTimeout: 3_600_000,
    connectionTimeout: 150_000,
    keepAliveTimeout: 65_000,
    forceCloseConnections: 'idle',
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 300 },
    clientErrorHandler: answerUnreadable,
    // Node would answer a request without Host itself, with no body; the hook for all requests does.
    http: { requireHostHeader: false },
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
  await registerContract(app, { db, readingDb, filesDb, context, service, config }, authenticate)
  return app
}

/** What Node refuses before there is a request (bad HTTP, headers too large) is answered like any other problem. */
function answerUnreadable(
  error: { code?: string },
  socket: { writable: boolean; end: (text: string) => void; destroy: () => void },
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const problem = new Problem('malformed-body', 'The request is not valid HTTP.', { cause: error })
  const { status } = problemTypes[problem.type]
  const body = JSON.stringify(problemBody(problem, randomUUID()))
  const headers = `Content-Type: application/problem+json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close`
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${headers}\r\n\r\n${body}`)
}
