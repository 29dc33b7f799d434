import { randomUUID } from 'node:crypto'
import accepts from '@fastify/accepts'
import fastify, { type FastifyInstance, LogController } from 'fastify'
import type { Config } from '../config.ts'
import type { Context } from '../contract/operation.ts'
import { loggableError } from '../database/errors.ts'
import type { Pools } from '../pools.ts'
import type { Telemetry } from '../telemetry/metrics.ts'
import { authenticateRequests } from './authentication.ts'
import { readBodies } from './body-parsers.ts'
import { answerClientError, trackResponses } from './client-error.ts'
import { registerDocumentation } from './docs.ts'
import { prefixLocations, setHeaders } from './headers.ts'
import { serviceHandlers } from './health.ts'
import { identifying } from './identify-caller.ts'
import { admitRequests, type Bulkheads } from './overload/admission-control.ts'
import { UnreadResponses } from './overload/memory-budget.ts'
import { limitUploads } from './overload/upload-deadlines.ts'
import { registerPage } from './page.ts'
import { checkPreconditions, routeBadPath } from './preconditions.ts'
import { PriceReads } from './price-reads.ts'
import { replyProblem } from './problem-reply.ts'
import { logRequests, logTo } from './request-log.ts'
import { registerOperations } from './routes.ts'

export interface AppServices extends Context {
  config: Config
  pools: Pools
  bulkheads: Bulkheads
  isStopping: () => boolean
  /** Aborted when shutdown stops waiting for running requests. */
  ending: AbortSignal
  telemetry: Telemetry
}

/** Builds the HTTP interface of the service; the caller listens. */
export async function buildApp({
  config,
  pools,
  bulkheads,
  isStopping,
  ending,
  telemetry,
  ...context
}: AppServices): Promise<FastifyInstance> {
  const { load, limits, role, basePath, metricsToken } = config
  const { metrics } = telemetry
  const service = serviceHandlers({ db: pools.health, isStopping, metrics, metricsToken })
  const unread = new UnreadResponses()

  // The stages, in the order a request passes through them. A failure at any stage ends in problem-reply.ts.
  const app = createServer(config) // client-error.ts: what is not HTTP
  app.setErrorHandler(replyProblem)
  trackResponses(app) // client-error.ts
  logRequests(app, telemetry) // request-log.ts
  limitUploads(app, { arrivalMs: load.arrivalMs, ending }) // overload/upload-deadlines.ts
  prefixLocations(app, basePath) // headers.ts, when the response is sent
  if (role !== 'worker') await registerDocumentation(app) // docs.ts, which needs none of the stages below
  setHeaders(app) // headers.ts
  authenticateRequests(app, identifying(config, context.jwtSecret, pools.keys)) // authentication.ts, identify-caller.ts
  await app.register(accepts)
  app.addHook('onRequest', checkPreconditions) // preconditions.ts
  await admitRequests(app, load, bulkheads) // overload/admission-control.ts, fair-queue.ts, memory-budget.ts
  readBodies(app, limits) // body-parsers.ts
  const priceReads = new PriceReads(pools, app.log)
  const services = { pools, priceReads, bulkheads, context, service, config, unread }
  await registerOperations(app, services) // routes.ts: handlers.ts, run by execute.ts or file-routes.ts
  if (role !== 'worker') registerPage(app) // page.ts
  return app
}

/** Headers are small, so no client needs longer to send them. */
const headersMs = 15_000
/** The longest that a file may take to arrive; upload-deadlines.ts limits other bodies. */
const fileArrivalMs = 3_600_000

function createServer({ logLevel, limits, load }: Config): FastifyInstance {
  const app: FastifyInstance = fastify({
    logger: {
      level: logLevel,
      stream: logTo(process.stderr),
      serializers: { err: loggableError },
    },
    logController: new LogController({
      disableRequestLogging: true,
      requestIdLogLabel: 'request_id',
    }),
    genReqId: () => randomUUID(),
    bodyLimit: limits.bodyBytesMax,
    requestTimeout: fileArrivalMs,
    connectionTimeout: load.arrivalMs + 30_000,
    keepAliveTimeout: 65_000,
    forceCloseConnections: 'idle',
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 300 },
    clientErrorHandler: answerClientError,
    http: {
      headersTimeout: Math.min(headersMs, load.arrivalMs),
      connectionsCheckingInterval: 5000,
    },
    frameworkErrors: (_error, request, reply) => routeBadPath(app, request, reply),
    // Fastify's own response is not a problem, has no Retry-After and is not logged.
    return503OnClosing: false,
  })
  app.server.maxConnections = load.socketsMax
  return app
}
