import { setTimeout as sleep } from 'node:timers/promises'
import { type Kind, underLoad } from '../kind.ts'
import { expectUsable } from '../usable.ts'

/** Stops PostgreSQL under load and starts it again later, once in each way to stop it. */
function restartPostgres(mode: 'fast' | 'immediate'): Kind {
  return {
    name: `postgres-${mode}`,
    isQuick: mode === 'immediate',
    run: (arena) =>
      underLoad(arena, async (_service, load) => {
        await sleep(arena.random.integer(100, 1500))
        await arena.cluster.stop(mode)
        await sleep(arena.random.integer(0, 4000))
        await arena.cluster.start()
        await expectUsable(arena, load)
        await sleep(500)
      }),
  }
}

export const stopFast = restartPostgres('fast')
export const stopImmediately = restartPostgres('immediate')
