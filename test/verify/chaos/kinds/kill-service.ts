import { setTimeout as sleep } from 'node:timers/promises'
import type { Kind } from '../kind.ts'
import { startLoad } from '../load.ts'
import { judge } from '../verdict.ts'

/** Kills the only process with SIGKILL during bulk writes, jobs and reads, once or twice. */
export const killService: Kind = {
  name: 'kill-service',
  isQuick: false,
  run: async (arena) => {
    let service = await arena.start()
    const load = await startLoad(arena, () => service.url)
    for (let kill = arena.random.integer(1, 2); kill > 0; kill--) {
      await sleep(arena.random.integer(100, 2500))
      arena.outages.begin()
      await service.kill()
      service = await arena.start()
      arena.outages.end()
    }
    await sleep(500)
    await load.settle()
    await judge(arena, load.tenants)
  },
}
