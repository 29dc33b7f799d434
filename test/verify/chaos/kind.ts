import type { ServiceProcess } from '../../helpers/process.ts'
import { type Arena, expectAlive } from './arena.ts'
import { type Load, startLoad } from './load.ts'
import { judge } from './verdict.ts'

/** A kind of fault. What goes wrong is noted in the arena. */
export interface Kind {
  name: string
  /** Whether `npm test` runs it once. */
  isQuick: boolean
  /** Whether it needs a database without migrations. */
  isEmpty?: boolean
  /** Why this machine cannot run it; undefined if it can. */
  impossible?(): string | undefined
  run(arena: Arena): Promise<void>
}

/** Starts a process and a load, calls `breakThings`, ends the load and checks the data. */
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
