import { setTimeout as sleep } from 'node:timers/promises'
import { query } from '../../../helpers/database.ts'
import { select } from '../../../helpers/sql.ts'
import type { Arena } from '../arena.ts'
import { type Kind, underLoad } from '../kind.ts'
import { expectUsable } from '../usable.ts'

/** Terminates sessions of the service one after the other. */
export const terminateBackend: Kind = {
  name: 'backend-terminated',
  isQuick: true,
  run: (arena) =>
    underLoad(arena, async () => {
      for (let count = 0; count < 30; count++) {
        const pid = await aBackend(arena)
        await query(arena.cluster.url, `select pg_terminate_backend(${pid})`)
        await sleep(arena.random.integer(5, 150))
      }
    }),
}

/** On a busy machine 200 rounds would outlast the patience of the clients. */
const cancelledForMs = 15_000

/** Cancels running statements of the service again and again. */
export const cancelStatements: Kind = {
  name: 'statements-cancelled',
  isQuick: true,
  run: (arena) =>
    underLoad(arena, async (_service, load) => {
      const end = Date.now() + cancelledForMs
      for (let count = 0; count < 200 && Date.now() < end; count++) {
        await select(
          arena.databaseUrl,
          `select pg_cancel_backend(pid) from pg_stat_activity
           where datname = current_database() and application_name like 'pricewell%' and state = 'active'`,
        )
        await sleep(arena.random.integer(1, 30))
      }
      await expectUsable(arena, load)
    }),
}

/** Kills the process of a session with SIGKILL: PostgreSQL ends all sessions and recovers. */
export const killBackend: Kind = {
  name: 'backend-killed',
  isQuick: false,
  run: (arena) =>
    underLoad(arena, async (_service, load) => {
      await sleep(arena.random.integer(100, 1500))
      process.kill(await aBackend(arena), 'SIGKILL')
      await sleep(50)
      await arena.cluster.ready()
      await expectUsable(arena, load)
    }),
}

/** The process id of a session of the service, a busy one if possible. */
async function aBackend({ databaseUrl, random }: Arena): Promise<number> {
  const deadline = Date.now() + 10_000
  while (Date.now() < deadline) {
    const backends = await select(
      databaseUrl,
      `select pid from pg_stat_activity
       where datname = current_database() and application_name like 'pricewell%'
       order by state = 'idle', pid limit 4`,
    )
    const [first, ...others] = backends
    if (first) return random.pick([first, ...others]).pid
    await sleep(10)
  }
  throw new Error('the service has no session left')
}
