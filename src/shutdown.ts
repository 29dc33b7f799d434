import { setTimeout as sleep } from 'node:timers/promises'
import closeWithGrace from 'close-with-grace'
import type { FastifyInstance } from 'fastify'
import type { PgBoss } from 'pg-boss'
import { type Database, endDatabase } from './database/pool.ts'
import { stopWorkers } from './jobs/work.ts'
import type { Tracing } from './telemetry/tracing.ts'

/** How long running requests and jobs may take to finish. */
const finishMs = 24_000
/**
 * Time to respond to aborted requests and hand jobs back; PostgreSQL checks once a second whether a statement's client
 * is still connected.
 */
const endMs = 1500
/**
 * Time for the queue to stop: it waits for the server to close its LISTEN connection, which a silent server never does.
 */
const queueMs = 3000
/** Time for the last callbacks. */
const lastMs = 1000

/** The longest that `finishWork` plus stopping the embedded PostgreSQL may take. */
export const closeMaxMs = 28_000

/** The parts of a process other than its HTTP server. */
export interface Backing {
  boss: PgBoss
  pools: Database[]
  tracing: Tracing | undefined
}

export interface Work {
  app: FastifyInstance
  backing: Backing
  /** Aborted to end the requests that still run. */
  ending: AbortController
}

/**
 * Accepts no more work and finishes what is running. After 24 seconds, ends the rest: requests get a 503, jobs are
 * handed back.
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

/** Stops the queue, waiting at most 3 seconds, then closes the pools and tracing. Call it once nothing uses them. */
export async function closeBacking({ boss, pools, tracing }: Backing): Promise<void> {
  await isWithin(boss.stop({ graceful: true, timeout: 1000 }), queueMs)
  await Promise.all(pools.map(endDatabase))
  await tracing?.stop()
}

async function finish({ app, backing }: Work): Promise<void> {
  await Promise.all([closeApp(app), stopWorkers(backing.boss)])
  await closeBacking(backing)
}

/** Closes keep-alive connections as soon as they become idle; Fastify closes only those already idle. */
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

/** Signals of the program's own faults; with a listener, the faulty instruction would run again forever. */
const ofFaults = ['SIGILL', 'SIGTRAP', 'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGSEGV'] as const

/** What ends a process: a signal, or an uncaught error. */
export interface Ending {
  signal: Signal | undefined
  err: Error | undefined
}

/** A second signal this soon is a duplicate: npm forwards the one that the terminal already sent to both processes. */
const sameSignalMs = 1000

/**
 * Runs `close` on SIGINT, SIGTERM or an uncaught error, then exits, after `delay` ms at the latest. A second signal
 * exits immediately.
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
