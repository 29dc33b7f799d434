import type { FastifyInstance } from 'fastify'
import { buildApp } from './app.ts'
import type { Config } from './config.ts'
import type { Context } from './contract/operation.ts'
import { CopyingClient } from './database/copy.ts'
import { migrate } from './database/migrate.ts'
import { type Database, openDatabase, type PoolOptions, poolUse } from './database/pool.ts'
import { ReadingClient } from './database/reading-client.ts'
import { type DatabaseServer, openDatabaseServer, readJwtSecret } from './database/server.ts'
import { whenAvailable } from './database/when-available.ts'
import { fileLoader } from './http/files/load-file.ts'
import { createBoss, installQueue } from './jobs/queue.ts'
import { findQueueState } from './jobs/queue-state.ts'
import { startRetention } from './jobs/retention.ts'
import { startWorkers } from './jobs/work.ts'
import { runAddProducts } from './price-lists/add-job.ts'
import { runSync } from './price-lists/sync-job.ts'
import { tidyList } from './price-lists/tidy-list.ts'
import { undoDraft } from './price-lists/undo-draft.ts'
import { startTelemetry } from './telemetry/telemetry.ts'

/** A running service. */
export interface Service {
  app: FastifyInstance
  server: DatabaseServer
  /** Not ready, jobs are handed back; requests are still taken. */
  retire(): void
  /** Retires, takes no more requests, finishes those in flight, closes connections. */
  close(): Promise<void>
}

/** Opens and migrates the database, starts what ROLE asks for; listening is left to the caller. */
export async function startService(config: Config): Promise<Service> {
  const server = await openDatabaseServer(config)
  return startOn(server, config).catch(async (error) => {
    await server.stop()
    throw error
  })
}

async function startOn(server: DatabaseServer, config: Config): Promise<Service> {
  await whenAvailable(() => install(server.url), {
    seconds: config.databaseWaitSeconds,
    onWait: ({ message, name }) => console.error(`Waiting for PostgreSQL: ${message || name}`),
  })
  const stopping = new AbortController()
  const onError = (error: Error) => app.log.error({ err: error }, 'database connection failed')
  const telemetry = await startTelemetry(config, {
    pools: () => mapValues(pools, poolUse),
    queue: () => findQueueState(pools.health),
  })
  const { metrics, tracing } = telemetry
  const { databaseConnections } = config.load
  const pools = openPools(server.url, databaseConnections, {
    onError,
    onStatement: tracing?.statement,
  })
  const boss = createBoss(server.url, { supervise: config.role !== 'api', onError })
  const context: Context = {
    ...{ limits: config.limits, boss, stopping: stopping.signal },
    jwtSecret: new TextEncoder().encode(readJwtSecret(config)),
  }
  const app = await buildApp({
    ...{ ...context, config },
    ...{
      db: pools.writes,
      readingDb: pools.reads,
      sendingDb: pools.sending,
      filesDb: pools.files,
      healthDb: pools.health,
    },
    isStopping: () => stopping.signal.aborted,
    telemetry,
  })
  await boss.start()
  if (config.role !== 'api') {
    await startWorkers({
      ...{ db: pools.jobs, boss, signal: stopping.signal, undo: undoDraft, tidy: tidyList },
      runners: {
        ...{ 'add-products': runAddProducts, 'sync-with-catalog': runSync },
        'load-file': fileLoader({ db: pools.loads, context }),
      },
      log: (fields, message) => app.log['err' in fields ? 'error' : 'info'](fields, message),
      watch: { attempt: metrics?.attempt, inSpan: tracing?.inSpan },
    })
    await startRetention(boss, pools.jobs)
  }
  const retire = () => stopping.abort()
  const close = async () => {
    retire()
    await closeApp(app)
    await boss.stop({ graceful: true, timeout: 10_000 })
    await Promise.all(Object.values(pools).map((pool) => pool.destroy()))
    await tracing?.stop()
    await server.stop()
  }
  return { app, server, retire, close }
}

async function install(url: string): Promise<void> {
  await migrate(url)
  await installQueue(url)
}

/** A connection whose last request ends while we close stays open for the next one: closed as soon as it is idle. */
async function closeApp(app: FastifyInstance): Promise<void> {
  const timer = setInterval(() => app.server.closeIdleConnections(), 50)
  await app.close().finally(() => clearInterval(timer))
}

/** Postgres waits twice for a row that others want too, first for the turn and then for the row: 2.5 seconds in all. */
const lockTurnMs = 1250

/** Reads, writes, jobs and health checks wait for their own connections only. */
function openPools(
  url: string,
  connectionsMax: number,
  listeners: Pick<PoolOptions, 'onError' | 'onStatement'>,
): Record<'reads' | 'writes' | 'sending' | 'files' | 'jobs' | 'loads' | 'health', Database> {
  const open = (name: string, options: Partial<PoolOptions>) =>
    openDatabase(url, {
      ...{ name, ...listeners, connectionsMax, client: CopyingClient },
      // Requests have their turn before they come here: this is the time in which a connection must open.
      ...{ acquireTimeoutMs: 1500, lockTimeoutMs: lockTurnMs, statementTimeoutMs: 30_000 },
      ...options,
    })
  return {
    reads: open('reads', { client: ReadingClient }),
    writes: open('writes', {}),
    // As long as a client takes to fetch a million rows.
    sending: open('sending', { connectionsMax: 4, statementTimeoutMs: 600_000 }),
    // Ten million rows come and go at the pace of a client, which may pause.
    files: open('files', {
      ...{ connectionsMax: 4, acquireTimeoutMs: 2500, idleTimeoutMs: 120_000 },
      ...{ statementTimeoutMs: 3_600_000, lockTimeoutMs: 10_000 },
    }),
    jobs: open('jobs', {
      ...{ connectionsMax: 6, acquireTimeoutMs: 2500 },
      ...{ statementTimeoutMs: 300_000, lockTimeoutMs: 60_000 },
    }),
    // A file of a job, in one transaction.
    loads: open('loads', {
      ...{ connectionsMax: 4, acquireTimeoutMs: 2500 },
      ...{ statementTimeoutMs: 3_600_000, lockTimeoutMs: 60_000 },
    }),
    health: open('health', { connectionsMax: 1, acquireTimeoutMs: 2500, statementTimeoutMs: 2000 }),
  }
}

function mapValues<T, U>(record: Record<string, T>, map: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]))
}
