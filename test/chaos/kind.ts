import type { ServiceProcess } from '../helpers/process.ts'
import { type Arena, expectAlive } from './arena.ts'
import { type Load, startLoad } from './load.ts'
import { judge } from './verdict.ts'

/** A way to break things. Whatever goes wrong is noted in the arena. */
export interface Kind {
  name: string
  /** Done once in the normal tests. */
  isQuick: boolean
  /** Its database is empty and not migrated. */
  isEmpty?: boolean
  /** Why it cannot be done on this machine. */
  impossible?(): string | undefined
  run(arena: Arena): Promise<void>
}

/** Starts one process and a load on it, breaks things, ends the load and compares. */
export async function underLoad(
  arena: Arena,
  breakThings: (service: ServiceProcess, load: Load) => Promise<void>,
  settings: Record<string, string> = {},
): Promise<void> {
  const service = await arena.start(settings)
  const load = await startLoad(arena, () => service.url)
  try {
    await breakThings(service, load)
  } finally {
    expectAlive(arena, service)
    await load.settle()
  }
  expectAlive(arena, service)
  await judge(arena, [...load.tenants, load.quiet])
}
