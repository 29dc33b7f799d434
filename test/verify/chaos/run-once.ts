import type { Teardowns } from '../../helpers/leave-nothing.ts'
import { openArena } from './arena.ts'
import type { Cluster } from './cluster.ts'
import type { Kind } from './kind.ts'
import { seeded } from './random.ts'

interface Circumstances {
  seed: number
  timeFactor?: number
  /** Closes the arena if the command ends first. */
  command?: Pick<Teardowns, 'teardown'>
}

/** Runs a kind once on a running cluster; returns the faults. The cluster runs afterwards. */
export async function runOnce(
  { isEmpty = false, run }: Kind,
  cluster: Cluster,
  { seed, timeFactor = 1, command }: Circumstances,
): Promise<string[]> {
  const arena = await openArena(cluster, seeded(seed), { isEmpty, timeFactor })
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
