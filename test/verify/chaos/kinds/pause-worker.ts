import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServiceProcess } from '../../../helpers/process.ts'
import { select } from '../../../helpers/sql.ts'
import { type Arena, expectAlive } from '../arena.ts'
import { expectResumed } from '../attempts.ts'
import { createList, lookAtJob, startJob, watchJob } from '../job-load.ts'
import type { Kind } from '../kind.ts'
import type { JobEntry, ListEntry } from '../ledger.ts'
import { createTenant, type Tenant } from '../tenant.ts'
import { judge } from '../verdict.ts'

const products = 30_000
const afterwardsMs = 3000

/**
 * A worker is paused past its lease during a job; another one, old or new, ends the job; then the first one
 * resumes.
 */
export const pauseWorker: Kind = {
  name: 'pause-worker',
  isQuick: false,
  run: async (arena) => {
    const api = await arena.start({ ROLE: 'api' })
    const sleeper = await arena.start({ ROLE: 'worker' })
    const isThere = arena.random.chance(0.5)
    const idle = isThere ? await arena.start({ ROLE: 'worker' }) : undefined
    const tenant = await createTenant(arena, () => api.url, products)
    const kind = arena.random.pick(['add', 'sync'] as const)
    // Only the worker to be paused may take the job.
    if (idle) process.kill(idle.pid, 'SIGSTOP')
    const job = await pauseInWork(arena, tenant, sleeper, kind)
    const takenUp = expectResumed(arena)
    if (idle) process.kill(idle.pid, 'SIGCONT')
    const other = idle ?? (await arena.start({ ROLE: 'worker' }))
    await Promise.all([takenUp, watchJob(tenant, arena, job)])
    const before = await dump(arena)
    process.kill(sleeper.pid, 'SIGCONT')
    await sleep(afterwardsMs)
    if ((await dump(arena)) !== before) arena.faults.push('the paused worker committed something')
    for (const service of [sleeper, other, api]) expectAlive(arena, service)
    await judge(arena, [tenant])
  },
}

/** Pauses a worker during a job. If the job ends first, tries another with an earlier pause. */
async function pauseInWork(
  arena: Arena,
  tenant: Tenant,
  worker: ServiceProcess,
  kind: 'add' | 'sync',
): Promise<JobEntry> {
  for (let waitMs = 200; ; waitMs /= 2) {
    const name = `A${waitMs}`
    const list = (await createList(tenant, name)) as ListEntry
    const job = (await startJob(tenant, list, { kind, name, rows: products })) as JobEntry
    while (job.finished === 0 && job.status === 'progress') await lookAtJob(tenant, arena, job)
    await sleep(arena.random.integer(0, Math.floor(waitMs)))
    process.kill(worker.pid, 'SIGSTOP')
    await lookAtJob(tenant, arena, job)
    if (job.status === 'progress') return job
    process.kill(worker.pid, 'SIGCONT')
  }
}

/** The keys of what a job changes. */
const keys = {
  jobs: 'id',
  price_lists: 'id',
  price_list_rows: 'id',
  calendar_months: 'price_list_id, row_id, dimension, month',
  list_revisions: 'price_list_id, revision',
  list_changes: 'price_list_id, revision, change, slice, first_row_id',
  calendar_changes: 'price_list_id, revision, change, slice, first_row_id',
  removed_rows: 'price_list_id, row_id, removed_version',
}

/** A hash of everything that a job changes. */
async function dump({ databaseUrl }: Arena): Promise<string> {
  const hash = createHash('sha256')
  for (const [table, key] of Object.entries(keys)) {
    const rows = await select(databaseUrl, `select * from ${table} order by account_id, ${key}`)
    hash.update(JSON.stringify(rows))
  }
  return hash.digest('hex')
}
