import { setTimeout as sleep } from 'node:timers/promises'
import type { Kind } from '../kind.ts'
import { startLoad } from '../load.ts'
import { judge } from '../verdict.ts'

const stopsWithinMs = 30_000

/** The service starts before PostgreSQL and stops after it. */
export const latePostgres: Kind = {
  name: 'postgres-late',
  isQuick: false,
  run: async (arena) => {
    const { cluster, random, faults } = arena
    await cluster.stop(random.pick(['fast', 'immediate']))
    const starting = arena.start()
    starting.catch(() => undefined)
    await sleep(random.integer(0, 4000))
    await cluster.start()
    const service = await starting
    const load = await startLoad(arena, () => service.url, { accounts: 1 })
    await sleep(500)
    await load.settle()
    await judge(arena, load.tenants)
    await cluster.stop('immediate')
    await sleep(random.integer(0, 1000))
    const began = Date.now()
    const code = await service.stop()
    const ms = Date.now() - began
    if (code !== 0 || ms > stopsWithinMs) faults.push(`SIGTERM: exit ${code} after ${ms} ms`)
  },
}
