import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Measure, median, timed } from './measure.ts'
import { salePath, salesOf } from './sales.ts'

/**
 * How long a large body delays other requests: the longest `GET /health/live` on its own connection while the body
 * is handled, minus its idle time.
 */
function blockMeasure(rows: number, floor: number, aim: number): Measure {
  return {
    name: `longest event-loop block of a body of ${rows} rows`,
    unit: 'ms',
    floor,
    aim,
    prepare: async () => undefined,
    ours: async (service) => {
      const probe = service.connect()
      const live = () => timed(() => probe.send('GET', '/health/live'))
      const idle: number[] = []
      for (let i = 0; i < 100; i++) idle.push(await live())
      let longest = 0
      await during(service.post(salePath, JSON.stringify(salesOf(rows))), async () => {
        longest = Math.max(longest, await live())
        await sleep(1)
      })
      probe.close()
      return longest - median(idle)
    },
  }
}

/** Peak memory that a new process needs for one body beyond its idle memory, as a multiple of the body. */
function memoryMeasure(rows: number): Measure {
  return {
    name: `server RSS growth over a body of ${rows} rows, in body sizes`,
    unit: 'times',
    floor: 6,
    aim: 3,
    prepare: async () => undefined,
    ours: async (service) => {
      await service.restart()
      await service.call('POST', salePath, salesOf(10))
      const rest = rssBytes(service.pid())
      let most = rest
      const body = JSON.stringify(salesOf(rows))
      await during(service.post(salePath, body), async () => {
        most = Math.max(most, rssBytes(service.pid()))
        await sleep(3)
      })
      return (most - rest) / body.length
    },
  }
}

async function during(work: Promise<void>, watch: () => Promise<void>): Promise<void> {
  let isDone = false
  const done = work.finally(() => {
    isDone = true
  })
  while (!isDone) await watch()
  await done
}

function rssBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024
}

/** The cost of one large body for other requests and for memory. */
export const loadMeasures: Measure[] = [
  blockMeasure(10_000, 50, 20),
  blockMeasure(100_000, 150, 50),
  memoryMeasure(100_000),
]
