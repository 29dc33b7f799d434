import { setTimeout as sleep } from 'node:timers/promises'
import { type Arena, expectAlive } from '../arena.ts'
import { createList, runJob, startJob, watchJob } from '../job-load.ts'
import type { Kind } from '../kind.ts'
import type { JobEntry, ListEntry } from '../ledger.ts'
import { createTenant, type Tenant } from '../tenant.ts'
import { judge } from '../verdict.ts'

const products = 20_000
const resumedWithinMs = 30_000

/** kill -9 of one of two workers while add and sync jobs run; the other one ends what it had. */
export const killWorker: Kind = {
  name: 'kill-worker',
  isQuick: false,
  run: async (arena) => {
    const api = await arena.start({ ROLE: 'api' })
    const victim = await arena.start({ ROLE: 'worker' })
    const tenant = await createTenant(arena, () => api.url, products)
    const lists = await Promise.all(['A', 'B', 'C'].map((name) => aFilledList(tenant, arena, name)))
    const jobs = await Promise.all(lists.map(({ list, name }) => aSync(tenant, list, name)))
    await sleep(arena.random.integer(0, 1500))
    await victim.kill()
    const killed = Date.now()
    const other = await arena.start({ ROLE: 'worker' })
    await Promise.all(jobs.map((job) => watchJob(tenant, arena, job)))
    const ms = Date.now() - killed
    if (ms > resumedWithinMs) arena.faults.push(`the jobs ended ${ms} ms after the kill`)
    expectAlive(arena, other)
    await judge(arena, [tenant])
  },
}

async function aFilledList(tenant: Tenant, arena: Arena, name: string) {
  const list = (await createList(tenant, name)) as ListEntry
  const rows = arena.random.integer(101, products)
  const isFirst = arena.random.chance(0.5)
  if (isFirst) await runJob(tenant, arena, list, { kind: 'add', name, rows })
  else await startJob(tenant, list, { kind: 'add', name, rows })
  return { list, name }
}

async function aSync(tenant: Tenant, list: ListEntry, name: string): Promise<JobEntry> {
  return (await startJob(tenant, list, { kind: 'sync', name, rows: products })) as JobEntry
}
