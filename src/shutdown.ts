import { setTimeout as sleep } from 'node:timers/promises'
import closeWithGrace from 'close-with-grace'
import type { FastifyInstance } from 'fastify'
import type { PgBoss } from 'pg-boss'
import { type Database, endDatabase } from './database/pool.ts'
import { stopWorkers } from './jobs/work.ts'
import type { Tracing } from './telemetry/telemetry.ts'

/** How long running requests and jobs may take to finish. */
const finishMs = 24_000
/**
 * For answering ended requests and handing back jobs; PostgreSQL checks once a second whether a statement's client is
 * there.
 */
const endMs = 1500
/** For the queue: it waits until the server closes its listening connection, which a silent server never does. */
const queueMs = 3000
/** For the last callbacks. */
const lastMs = 1000

/** The longest that `finishWork` and stopping the embedded PostgreSQL take. */
export const closeMaxMs = 27_000

/** What a process has beside its HTTP server. */
export interface Backing {
  boss: PgBoss
  pools: Database[]
  tracing: Tracing | undefined
}

export interface Work {
  app: FastifyInstance
  backing: Backing
  /** Aborted when requests are ended. */
  ending: AbortController
}

/**
 * Takes no more work and finishes what is running. After 24 seconds the rest is ended: requests are answered with 503,
 * jobs handed back.
 */
export async function finishWork(work: Work): Promise<void> {
  const { app, backing, ending } = work
  const finished = finish(work)
  if (!(await isWithin(finished, finishMs))) {
    ending.abort()
    for (const db of backing.pools) endDatabase(db).catch(() => undefined)
    await sleep(endMs)
    app.server.closeAllConnections()
    await isWithin(finished, lastMs)
  } else await finished
}

/** Closes the queue and the pools, once nothing uses them. */
export async function closeBacking({ boss, pools, tracing }: Backing): Promise<void> {
  await isWithin(boss.stop({ graceful: true, timeout: 1000 }), queueMs)
  await Promise.all(pools.map(endDatabase))
  await tracing?.stop()
}

async function finish({ app, backing }: Work): Promise<void> {
  await Promise.all([closeApp(app), stopWorkers(backing.boss)])
  await closeBacking(backing)
}

/** Closes keep-alive connections as soon as they are idle: Fastify closes those that are idle now only. */
async function closeApp(app: FastifyInstance): Promise<void> {
  const timer = setInterval(() => app.server.closeIdleConnections(), 50)
  try {
    await app.close()
  } finally {
    clearInterval(timer)
  }
}

async function isWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  const late = new AbortController()
  const timer = sleep(ms, false, { signal: late.signal }).catch(() => false)
  return Promise.race([work.then(() => true), timer]).finally(() => late.abort())
}

type Signal = 'SIGINT' | 'SIGTERM'

/** Signals of the program's own faults: with a listener the faulty instruction would run again for ever. */
const ofFaults = ['SIGILL', 'SIGTRAP', 'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGSEGV'] as const

/** What ends a process: a signal, or an uncaught error. */
export interface Ending {
  signal: Signal | undefined
  err: Error | undefined
}

/** A second signal so soon is the same: npm passes on what the terminal sent to both. */
const sameSignalMs = 1000

/**
 * Runs `close` at SIGINT, SIGTERM or an uncaught error, and ends the process after it or after `delay` ms. A second signal
 * ends the process at once.
 */
export function closeOnce(delay: number, close: (ending: Ending) => Promise<void>): void {
  let signal: Signal | undefined
  let began: number | undefined
  const skip = [...ofFaults, 'SIGINT' as const, 'SIGTERM' as const]
  const grace = closeWithGrace({ delay, logger: false, skip }, ({ err }) => {
    began = performance.now()
    return close({ signal, err })
  })
  const onSignal = (name: Signal) => {
    signal ??= name
    if (began === undefined) grace.close()
    else if (performance.now() - began > sameSignalMs) process.exit(1)
  }
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal)
}
