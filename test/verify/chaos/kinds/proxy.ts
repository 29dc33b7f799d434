import { setTimeout as sleep } from 'node:timers/promises'
import type { ServiceProcess } from '../../../helpers/process.ts'
import type { Arena } from '../arena.ts'
import { type Kind, underLoad } from '../kind.ts'
import type { Load } from '../load.ts'
import { type BreakableProxy, startProxy } from '../proxy.ts'
import { expectUsable } from '../usable.ts'

type Breakage = (
  proxy: BreakableProxy,
  arena: Arena,
  load: Load,
  service: ServiceProcess,
) => Promise<void>

/** Breaks the network between the service and PostgreSQL. */
function throughProxy(name: string, isQuick: boolean, breakThings: Breakage): Kind {
  const run = async (arena: Arena) => {
    const proxy = await startProxy(arena.cluster.socketPath)
    arena.teardown(() => proxy.close())
    const settings = { DATABASE_URL: proxy.through(arena.databaseUrl) }
    const breaking = (service: ServiceProcess, load: Load) =>
      breakThings(proxy, arena, load, service)
    await underLoad(arena, breaking, settings)
  }
  return { name, isQuick, run }
}

/** Resets every connection several times; for a while none can be opened. */
export const cutConnections = throughProxy('network-cut', false, async (proxy, arena, load) => {
  for (let count = 0; count < 5; count++) {
    await sleep(arena.random.integer(50, 700))
    proxy.cut()
  }
  await proxy.refuse()
  await sleep(arena.random.integer(100, 2000))
  await proxy.resume()
  await expectUsable(arena, load)
})

/** Passes nothing on and closes nothing, for a moment or longer than any request may wait. */
export const stallConnections = throughProxy(
  'network-stall',
  false,
  async (proxy, arena, load, service) => {
    await sleep(arena.random.integer(100, 1000))
    proxy.stall()
    await expectHealth(arena, service)
    await sleep(arena.random.chance(0.3) ? 37_000 : arena.random.integer(100, 5000))
    await proxy.resume()
    await expectUsable(arena, load)
  },
)

const healthWithinMs = 5000

async function expectHealth({ faults }: Arena, { url }: ServiceProcess): Promise<void> {
  const live = await fetch(`${url}/health/live`)
  const began = Date.now()
  const ready = await fetch(`${url}/health/ready`)
  const ms = Date.now() - began
  if (live.status !== 200) faults.push(`alive answers ${live.status}`)
  if (ready.status !== 503 || ms > healthWithinMs)
    faults.push(`ready answers ${ready.status} after ${ms} ms`)
}

/** Resets connections right after COMMIT was passed on: it is done, but the service cannot know. */
export const cutCommits = throughProxy('commit-lost', true, async (proxy, arena) => {
  const rounds = 8
  for (let count = 0; count < rounds; count++) {
    await sleep(arena.random.integer(50, 300))
    proxy.cutAfterCommit(arena.random.integer(1, 3))
  }
  const deadline = Date.now() + 10_000 * arena.timeFactor
  while (proxy.cutCommits() < rounds && Date.now() < deadline) {
    proxy.cutAfterCommit(1)
    await sleep(50)
  }
  proxy.cutAfterCommit(0)
  if (proxy.cutCommits() < rounds) arena.faults.push(`only ${proxy.cutCommits()} commits were cut`)
})
