import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { updateBody, updatePath } from './lists.ts'
import { median, timed, type Workload } from './measure.ts'
import type { Server } from './servers.ts'
import { bodiesOf, sales } from './upserts.ts'

/** Time for a new process to settle. */
const restMs = 3000

/** Memory of a new process at rest, and at most while it sets 100,000 prices and has done nothing else. */
const memoryWorkload: Workload = {
  rows: [
    { name: 'RSS idle', unit: 'MiB', goal: { ratio: 1.5, of: 'naive' } },
    { name: 'RSS peak, update 100,000 prices', unit: 'MiB', goal: { ratio: 1.2, of: 'naive' } },
  ],
  ours: ({ ours }) => memoryOf(ours),
  naive: ({ naive }) => memoryOf(naive),
}

async function memoryOf(server: Server): Promise<number[]> {
  await server.restart()
  await sleep(restMs)
  const idle = memory(server, 'VmRSS')
  await server.post(updatePath, updateBody(100_000))
  return [idle, memory(server, 'VmHWM')]
}

function memory(server: Server, name: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${server.pid()}/status`, 'utf8')
  return Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024
}

/** The longest `GET /health/live` on a connection of its own during a call with sales, minus its idle time. */
function blockWorkload(rows: number): Workload {
  return {
    rows: [
      { name: `longest delay during a call of ${rows.toLocaleString('en')} sales`, unit: 'ms' },
    ],
    ours: async ({ ours }) => {
      const probe = ours.connect()
      const live = () => timed(() => probe.send(ours.request('GET', '/health/live')))
      const idle: number[] = []
      for (let look = 0; look < 100; look++) idle.push(await live())
      let longest = 0
      let isDone = false
      const [body = ''] = bodiesOf(sales, rows).fresh
      const call = ours.post(sales.path, body).finally(() => {
        isDone = true
      })
      while (!isDone) longest = Math.max(longest, await live())
      await call
      probe.close()
      return [longest - median(idle)]
    },
  }
}

/** The cost of a large body in memory, where the system tells it, and for other requests. */
export const loadWorkloads: Workload[] = [
  ...(existsSync('/proc/self/status') ? [memoryWorkload] : []),
  blockWorkload(10_000),
  blockWorkload(100_000),
]
