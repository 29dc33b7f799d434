import type { Teardowns } from '../helpers/leave-nothing.ts'
import { openArena } from './arena.ts'
import type { Cluster } from './cluster.ts'
import type { Kind } from './kind.ts'
import { seeded } from './random.ts'

interface Circumstances {
  seed: number
  patience?: number
  /** Closes the arena if it ends before the run does. */
  command?: Pick<Teardowns, 'teardown'>
}

/** Breaks things once on a running cluster; answers what was not survived. The cluster runs afterwards. */
export async function runOnce(
  { isEmpty = false, run }: Kind,
  cluster: Cluster,
  { seed, patience = 1, command }: Circumstances,
): Promise<string[]> {
  const arena = await openArena(cluster, seeded(seed), { isEmpty, patience })
  command?.teardown(arena.close)
  try {
    await run(arena)
  } catch (error) {
    arena.faults.push(`the run broke off: ${(error as Error).stack}`)
  }
  if (!cluster.isRunning()) await cluster.start()
  await arena.close()
  return arena.faults
}
