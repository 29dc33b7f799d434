import { setTimeout as sleep } from 'node:timers/promises'
import type { ServiceProcess } from '../../../helpers/process.ts'
import { select } from '../../../helpers/sql.ts'
import { type Arena, expectAlive } from '../arena.ts'
import { expectResumed } from '../attempts.ts'
import { createList, runJob, startJob, watchJob } from '../job-load.ts'
import type { Kind } from '../kind.ts'
import type { JobEntry, ListEntry } from '../ledger.ts'
import { createTenant, type Tenant } from '../tenant.ts'
import { judge } from '../verdict.ts'

/** More than two chunks, so that a resumed job is partly done. */
const products = 60_000
const listNames = ['A', 'B', 'C']
const roundsMax = 10
/** Jobs that one worker runs; more active jobs mean that both work. */
const jobsOfWorker = 2

/** Kills one of two workers with SIGKILL during its jobs; the other one, old or new, finishes them. */
export const killWorker: Kind = {
  name: 'kill-worker',
  isQuick: false,
  run: async (arena) => {
    const api = await arena.start({ ROLE: 'api' })
    const victim = await arena.start({ ROLE: 'worker' })
    const isThere = arena.random.chance(0.5)
    const busy = isThere ? await arena.start({ ROLE: 'worker' }) : undefined
    const tenant = await createTenant(arena, () => api.url, products)
    const jobs = await killInRounds(arena, tenant, victim, busy ? jobsOfWorker : 0)
    const takenUp = expectResumed(arena)
    const other = busy ?? (await arena.start({ ROLE: 'worker' }))
    await Promise.all([takenUp, ...jobs.map((job) => watchJob(tenant, arena, job))])
    expectAlive(arena, other)
    await judge(arena, [tenant])
  },
}

/** Starts jobs and kills a worker while they run; starts others if they end first. */
async function killInRounds(
  arena: Arena,
  tenant: Tenant,
  victim: ServiceProcess,
  others: number,
): Promise<JobEntry[]> {
  const jobs: JobEntry[] = []
  for (let round = 0; round < roundsMax; round++) {
    const orders = listNames.map((name) => anOrder(arena, `${name}${round}`))
    const lists = await Promise.all(orders.map((order) => aFilledList(tenant, arena, order)))
    jobs.push(...(await Promise.all(lists.map(({ list, name }) => aSync(tenant, list, name)))))
    await sleep(arena.random.integer(0, Math.floor(500 / (round + 1))))
    if (await killInWork(arena, victim, others)) return jobs
  }
  arena.faults.push('the jobs ended before the kill')
  return jobs
}

/**
 * Kills a worker that runs a job, paused while that is checked. `others`: jobs that other workers may run. False:
 * all jobs ended first.
 */
async function killInWork({ databaseUrl }: Arena, victim: ServiceProcess, others: number) {
  const taken = `select from pgboss.job where name = 'price-list' and state = 'active'`
  const unfinished = `select from jobs where status = 'progress'`
  for (;;) {
    process.kill(victim.pid, 'SIGSTOP')
    if ((await select(databaseUrl, taken)).length > others) break
    process.kill(victim.pid, 'SIGCONT')
    if ((await select(databaseUrl, unfinished)).length === 0) return false
    await sleep(20)
  }
  await victim.kill()
  return true
}

function anOrder({ random }: Arena, name: string) {
  return { name, rows: random.integer(101, products), isFirst: random.chance(0.5) }
}

async function aFilledList(
  tenant: Tenant,
  arena: Arena,
  { name, rows, isFirst }: ReturnType<typeof anOrder>,
) {
  const list = (await createList(tenant, name)) as ListEntry
  if (isFirst) await runJob(tenant, arena, list, { kind: 'add', name, rows })
  else await startJob(tenant, list, { kind: 'add', name, rows })
  return { list, name }
}

async function aSync(tenant: Tenant, list: ListEntry, name: string): Promise<JobEntry> {
  return (await startJob(tenant, list, { kind: 'sync', name, rows: products })) as JobEntry
}
