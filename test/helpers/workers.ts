import type { PgBoss } from 'pg-boss'
import type { Test } from 'tap'
import { readConfig } from '../../src/config.ts'
import { CopyingClient } from '../../src/database/copy.ts'
import { type Database, openDatabase } from '../../src/database/pool.ts'
import { fileLoader } from '../../src/feeds/file-job.ts'
import type { Attempt } from '../../src/jobs/attempt.ts'
import { createBoss, listQueue } from '../../src/jobs/queue.ts'
import type { RunJob } from '../../src/jobs/run-job.ts'
import { startWorkers, type WorkOptions } from '../../src/jobs/work.ts'
import { runAddProducts } from '../../src/price-lists/add-job.ts'
import { tidyList, undoDraft } from '../../src/price-lists/publication.ts'
import { runRemoveProducts } from '../../src/price-lists/remove-job.ts'
import { runSync } from '../../src/price-lists/sync-job.ts'
import { runApplyPlan } from '../../src/prices/plans/apply-job.ts'
import { runMakePlan } from '../../src/prices/plans/make-plan-job.ts'
import { runRevert } from '../../src/prices/revert/revert-price-list.ts'
import type { TestAccount, TestService } from './service.ts'
import { select } from './sql.ts'

/** A pool like that of the jobs, closed when the test ends. */
export function openJobsDatabase(
  t: Test,
  { url }: TestService,
  { lockTimeoutMs = 60_000 } = {},
): Database {
  const db = openDatabase(url, {
    client: CopyingClient,
    name: 'test jobs',
    connectionsMax: 3,
    onError: () => undefined,
    acquireTimeoutMs: 5000,
    statementTimeoutMs: 60_000,
    lockTimeoutMs,
  })
  t.teardown(() => db.destroy())
  return db
}

/** Starts workers for a service with ROLE=api; they retry at once. */
export async function startTestWorkers(
  t: Test,
  service: TestService,
  runners: Partial<WorkOptions['runners']> = {},
  backoffMaxSeconds = 0,
): Promise<void> {
  const db = openJobsDatabase(t, service)
  const boss = createBoss(service.url, { supervise: true, onError: () => undefined })
  await boss.start()
  t.teardown(() => boss.stop({ graceful: true, timeout: 10_000 }))
  await boss.updateQueue(listQueue, { retryDelay: 0 })
  await select(service.url, 'update pgboss.job set retry_delay = 0')
  await startWorkers({
    db,
    boss,
    undo: undoDraft,
    tidy: tidyList,
    backoffMaxSeconds,
    signal: new AbortController().signal,
    log: () => undefined,
    runners: {
      'add-products': runAddProducts,
      'remove-products': runRemoveProducts,
      'sync-with-catalog': runSync,
      revert: runRevert,
      'make-plan': runMakePlan,
      'apply-plan': runApplyPlan,
      'load-file': testFileLoader(boss),
      ...runners,
    },
  })
}

/** Loads files as the workers of the service do. */
export function testFileLoader(boss: PgBoss): RunJob {
  const { limits } = readConfig({})
  const stopping = new AbortController().signal
  return fileLoader({
    context: { boss, limits, historyDays: 400, stopping, jwtSecret: new Uint8Array() },
  })
}

/** An attempt at a job, as a worker makes it. */
export function anAttempt(
  db: Database,
  account: TestAccount,
  job: { id: number },
  number: number,
  signal: AbortSignal = new AbortController().signal,
): Attempt {
  return { db, account: account.id, job: job.id, number, signal }
}

/** Aborts after the first `count` transactions of a job, like a process that is killed between two of them. */
export function stopAfter(count: number): AbortSignal {
  let begun = 0
  const throwIfAborted = () => {
    if (++begun > count) throw new Error('stopped')
  }
  return { aborted: false, throwIfAborted } as AbortSignal
}
