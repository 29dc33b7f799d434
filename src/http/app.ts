import { randomUUID } from 'node:crypto'
import fastify, { type FastifyInstance, LogController } from 'fastify'
import type { Config } from '../config.ts'
import type { Context } from '../contract/operation.ts'
import { loggableError } from '../database/errors.ts'
import type { Pools } from '../pools.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { createAuthenticate } from './authentication.ts'
import { answerClientError, trackResponses } from './client-error.ts'
import { registerDocumentation } from './docs.ts'
import { serviceHandlers } from './health.ts'
import type { Turns } from './overload/bulkheads.ts'
import { endAnsweredUploads, refuseLateUploads } from './overload/upload-deadlines.ts'
import { registerPage } from './page.ts'
import { prefixLocations } from './path-prefix.ts'
import { replyProblem } from './problem-reply.ts'
import { logTo, watchRequests } from './request-log.ts'
import { registerContract, routeBadPath } from './routes.ts'

export interface AppServices extends Context {
  config: Config
  pools: Pools
  turns: Turns
  isStopping: () => boolean
  /** Aborted when requests that are under way are not waited for any longer. */
  ending: AbortSignal
  telemetry: Telemetry
}

/** Headers are small: who takes longer holds a socket and sends nothing. */
const headersMs = 15_000

/** The HTTP interface of the service, ready to listen. */
export async function buildApp({
  config,
  pools,
  turns,
  isStopping,
  ending,
  telemetry,
  ...context
}: AppServices): Promise<FastifyInstance> {
  const authenticate = createAuthenticate(config, context.jwtSecret)
  const app: FastifyInstance = fastify({
    logger: {
      level: config.logLevel,
      stream: logTo(process.stderr),
      serializers: { err: loggableError },
    },
    logController: new LogController({
      disableRequestLogging: true,
      requestIdLogLabel: 'request_id',
    }),
    genReqId: () => randomUUID(),
    bodyLimit: config.limits.bodyBytesMax,
    // A file takes as long as it goes on; the other bodies have their time from the hook for all requests.
    requestTimeout: fileArrivalMs,
    connectionTimeout: config.load.arrivalMs + 30_000,
    keepAliveTimeout: 65_000,
    forceCloseConnections: 'idle',
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 300 },
    clientErrorHandler: answerClientError,
    http: {
      headersTimeout: Math.min(headersMs, config.load.arrivalMs),
      connectionsCheckingInterval: 5000,
    },
    frameworkErrors: (_error, request, reply) => routeBadPath(app, request, reply),
    // Fastify's own answer is no problem, has no Retry-After and is not in the log.
    return503OnClosing: false,
  })
  app.server.maxConnections = config.load.socketsMax
  // Plugins take over the handler that is there when they are registered.
  app.setErrorHandler(replyProblem)
  trackResponses(app)
  prefixLocations(app, config.basePath)
  watchRequests(app, telemetry)
  refuseLateUploads(app, ending)
  endAnsweredUploads(app)
  if (config.role !== 'worker') await registerDocumentation(app)
  const { metricsToken } = config
  const { metrics } = telemetry
  const service = serviceHandlers({ db: pools.health, isStopping, metrics, metricsToken })
  const services = { pools, turns, context, service, config }
  await registerContract(app, services, authenticate)
  if (config.role !== 'worker') registerPage(app)
  return app
}

const fileArrivalMs = 3_600_000
