import { EventEmitter } from 'node:events'
import type { FastifyInstance } from 'fastify'
import type { PgBoss } from 'pg-boss'
import { readJwtSecret } from './accounts/token.ts'
import type { Config } from './config.ts'
import type { Context } from './contract/operation.ts'
import { withOwnSettings } from './database/connection-setup.ts'
import { migrate } from './database/migrate.ts'
import { findNodes } from './database/nodes.ts'
import {
  type DatabaseServer,
  openDatabaseServer,
  rejectLostSettings,
  whenAvailable,
} from './database/server.ts'
import { fileLoader } from './feeds/file-job.ts'
import { buildApp } from './http/app.ts'
import { type Bulkheads, createBulkheads, poolsInUse } from './http/overload/admission-control.ts'
import { createBoss, findQueueState, installQueue } from './jobs/queue.ts'
import { startRetention } from './jobs/retention.ts'
import { startWorkers, stopWorkers, type WorkOptions } from './jobs/work.ts'
import { startSchedule } from './plans/schedule.ts'
import { openPools, type Pools } from './pools.ts'
import { runAddProducts } from './price-lists/add-job.ts'
import { tidyList, undoDraft } from './price-lists/publication.ts'
import { runRemoveProducts } from './price-lists/remove-job.ts'
import { runSync } from './price-lists/sync-job.ts'
import { runApplyPlan } from './prices/plans/apply-job.ts'
import { runMakePlan } from './prices/plans/make-plan-job.ts'
import { runRevert } from './prices/revert/revert-price-list.ts'
import { type Backing, closeBacking, finishWork } from './shutdown.ts'
import type { Metrics, Observed, Telemetry } from './telemetry/metrics.ts'
import type { Tracing } from './telemetry/tracing.ts'

export interface Service {
  app: FastifyInstance
  server: DatabaseServer
  /** Reports not ready and hands jobs back, but still accepts requests. */
  retire(): void
  /** Graceful shutdown: retires, finishes or ends requests, closes connections. Takes 28 seconds at most. */
  close(): Promise<void>
}

/**
 * Opens and migrates the database and starts what ROLE names; the caller listens. If `unwanted` aborts, stops what it
 * has started and throws.
 */
export async function startService(config: Config, unwanted?: AbortSignal): Promise<Service> {
  const server = await openDatabaseServer(config)
  const start = async () => {
    unwanted?.throwIfAborted()
    await install(server.url)
    unwanted?.throwIfAborted()
    return startOn(server, config)
  }
  try {
    return await whenAvailable(start, {
      seconds: config.databaseWaitSeconds,
      onWait: ({ message, name }) => console.error(`Waiting for PostgreSQL: ${message || name}`),
    })
  } catch (error) {
    await server.stop()
    throw error
  }
}

async function install(url: string): Promise<void> {
  await rejectLostSettings(url)
  await migrate(url)
  await installQueue(url)
}

/** Shared by the parts of a service. */
interface Parts {
  config: Config
  pools: Pools
  bulkheads: Bulkheads
  boss: PgBoss
  telemetry: Telemetry
  /** Errors of idle connections, logged once the app has a logger. */
  failures: EventEmitter<{ failure: [Error] }>
  stopping: AbortController
  ending: AbortController
}

async function startOn(server: DatabaseServer, config: Config): Promise<Service> {
  const parts = await openParts(server.url, config)
  const { stopping, ending } = parts
  const backing = backingOf(parts)
  let app: FastifyInstance | undefined
  try {
    app = await openApp(parts)
    await parts.boss.start()
    if (config.role !== 'api') await startJobs(parts, app)
    return serviceOf(app, server, { backing, stopping, ending })
  } catch (error) {
    await app?.close()
    await closeBacking(backing)
    throw error
  }
}

async function openParts(url: string, config: Config): Promise<Parts> {
  const failures: Parts['failures'] = new EventEmitter()
  const onError = (error: Error) => void failures.emit('failure', error)
  const tracing = await startTracing(config)
  const listeners = { onError, onStatement: tracing?.statement }
  const { databaseReadUrl } = config
  const readUrl = databaseReadUrl && withOwnSettings(databaseReadUrl)
  const pools = openPools({ url, readUrl }, config.load.databaseConnections, listeners)
  const bulkheads = createBulkheads(config.load)
  const metrics = await startMetrics(config, {
    pools: () => poolsInUse(pools, bulkheads),
    queue: () => findQueueState(pools.health),
    nodes: () => findNodes(pools.health),
  })
  const boss = createBoss(url, { supervise: config.role !== 'api', onError })
  const [stopping, ending] = [new AbortController(), new AbortController()]
  const telemetry = { metrics, tracing }
  return { config, pools, bulkheads, boss, telemetry, failures, stopping, ending }
}

async function startMetrics(
  { metricsToken }: Config,
  observed: Observed,
): Promise<Metrics | undefined> {
  if (!metricsToken) return undefined
  const { createMetrics } = await import('./telemetry/metrics.ts')
  return createMetrics(observed)
}

async function startTracing({ collector }: Config): Promise<Tracing | undefined> {
  if (!collector) return undefined
  const tracing = await import('./telemetry/tracing.ts')
  return tracing.startTracing(collector)
}

function backingOf({ boss, pools, telemetry: { tracing } }: Parts): Backing {
  return { boss, pools: Object.values(pools), tracing }
}

async function openApp(parts: Parts): Promise<FastifyInstance> {
  const { config, pools, bulkheads, telemetry, failures, stopping, ending } = parts
  const app = await buildApp({
    ...contextOf(parts),
    config,
    pools,
    bulkheads,
    telemetry,
    ending: ending.signal,
    isStopping: () => stopping.signal.aborted,
  })
  failures.on('failure', (err) => app.log.error({ err }, 'database connection failed'))
  return app
}

function contextOf({ config, boss, stopping }: Parts): Context {
  const jwtSecret = new TextEncoder().encode(readJwtSecret(config))
  const { limits, historyDays } = config
  return { limits, historyDays, boss, stopping: stopping.signal, jwtSecret }
}

async function startJobs(parts: Parts, app: FastifyInstance): Promise<void> {
  const { pools, boss, stopping, telemetry } = parts
  const { metrics, tracing } = telemetry
  const log: WorkOptions['log'] = (fields, message) =>
    app.log['err' in fields ? 'error' : 'info'](fields, message)
  await startWorkers({
    db: pools.jobs,
    boss,
    signal: stopping.signal,
    backoffMaxSeconds: 60,
    undo: undoDraft,
    tidy: tidyList,
    runners: {
      'add-products': runAddProducts,
      'remove-products': runRemoveProducts,
      'sync-with-catalog': runSync,
      revert: runRevert,
      'make-plan': runMakePlan,
      'apply-plan': runApplyPlan,
      'load-file': fileLoader({
        context: contextOf(parts),
        onLoaded: metrics?.loaded,
      }),
    },
    log,
    watch: { attempt: metrics?.attempt, inSpan: tracing?.inSpan },
  })
  await startSchedule(boss, pools.jobs)
  await startRetention(boss, { db: pools.jobs, log, historyDays: parts.config.historyDays })
}

function serviceOf(
  app: FastifyInstance,
  server: DatabaseServer,
  { backing, stopping, ending }: Pick<Parts, 'stopping' | 'ending'> & { backing: Backing },
): Service {
  const retire = () => {
    stopping.abort()
    void stopWorkers(backing.boss)
  }
  const close = async () => {
    retire()
    await finishWork({ app, backing, ending })
    await server.stop()
  }
  return { app, server, retire, close }
}
