import { setTimeout as sleep } from 'node:timers/promises'
import closeWithGrace from 'close-with-grace'
import type { FastifyInstance } from 'fastify'
import type { PgBoss } from 'pg-boss'
import { type Database, endDatabase } from './database/pool.ts'
import { stopWorkers } from './jobs/work.ts'
import type { Tracing } from './telemetry/telemetry.ts'

/** Requests and jobs that are under way have this long to finish. */
const finishMs = 24_000
/**
 * For the answers to the requests that were ended and for handing back their jobs; PostgreSQL looks once a second
 * whether the client of a statement is there.
 */
const endMs = 1500
/** For the queue to end: it waits for the server to close the connection that listens, one that is silent never does. */
const queueMs = 3000
/** For what has been ended to say so. */
const lastMs = 1000

/** The most that `finishWork` takes, and stopping the embedded PostgreSQL after it. */
export const closeMaxMs = 27_000

/** What a process works with, apart from its interface. */
export interface Backing {
  boss: PgBoss
  pools: Database[]
  tracing: Tracing | undefined
}

/** What finishes before a process ends. */
export interface Work {
  app: FastifyInstance
  backing: Backing
  /** Told when nothing is waited for any longer. */
  ending: AbortController
}

/**
 * Takes no more work and finishes what is under way. What has not finished after 24 seconds is ended: its requests are
 * answered with 503, its jobs handed back.
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

/** Closes the queue and the connections that nobody uses any more. */
export async function closeBacking({ boss, pools, tracing }: Backing): Promise<void> {
  await isWithin(boss.stop({ graceful: true, timeout: 1000 }), queueMs)
  await Promise.all(pools.map((db) => db.destroy()))
  await tracing?.stop()
}

async function finish({ app, backing }: Work): Promise<void> {
  await Promise.all([closeApp(app), stopWorkers(backing.boss)])
  await closeBacking(backing)
}

/** A connection whose last request ends while we close stays open for the next one: closed as soon as it is idle. */
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

/** What a fault of a program itself sends: with a listener it would be repeated for ever, and the process never end. */
const ofFaults = ['SIGILL', 'SIGTRAP', 'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGSEGV'] as const

/** What ends a process: a signal, or an error that nobody has caught. */
export interface Ending {
  signal: Signal | undefined
  err: Error | undefined
}

/** npm passes on the signal that a terminal has sent to both: so soon after the first it is the same. */
const sameSignalMs = 1000

/**
 * Closes when the process is told to end, or breaks, and ends it then or after `delay` ms. Who sends a second signal
 * does not want to wait: it ends the process at once.
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
