import { type LoadLimits, listConnections, streamConnections } from '../../config.ts'
import { type PoolUse, poolUse } from '../../database/pool.ts'
import type { Pools } from '../../pools.ts'
import { FairQueue } from './fair-queue.ts'

/** The turns of requests at the connections of each kind. */
export type Turns = Readonly<Record<'reads' | 'lists' | 'writes' | 'streams', FairQueue>>

/** How long a request waits for the database while other accounts use it. */
const waitMs = 1400

/** Queues in which no account keeps the others from a connection. */
export function createTurns({
  databaseConnections,
  waitingMax,
  accountWaitingMax: waitingOfAccountMax,
  accountWritesMax,
  accountWaitMs: waitOwnMs,
}: LoadLimits): Turns {
  const shared = { waitMs, waitingMax, waitingOfAccountMax }
  const short = { ...shared, turnsMax: databaseConnections }
  // One connection is always left for the others.
  const readsOfAccountMax = Math.max(databaseConnections - 1, 1)
  // A client may take minutes for each: half of the connections, so that two are left for two others.
  const turnsOfAccountMax = streamConnections / 2
  const long = { ...shared, turnsMax: streamConnections, turnsOfAccountMax, waitOwnMs }
  return {
    reads: new FairQueue({ ...short, turnsOfAccountMax: readsOfAccountMax, waitOwnMs: waitMs }),
    // A page may take seconds: those of one account wait for each other.
    lists: new FairQueue({
      ...shared,
      turnsMax: listConnections(databaseConnections),
      turnsOfAccountMax: 1,
      waitOwnMs,
    }),
    writes: new FairQueue({ ...short, turnsOfAccountMax: accountWritesMax, waitOwnMs }),
    streams: new FairQueue(long),
  }
}

/** The use of each pool; requests wait for their turns before they come to it. */
export function poolsInUse(
  pools: Pools,
  turns: Partial<Record<string, FairQueue>>,
): Record<string, PoolUse> {
  const use = Object.entries(pools).map(([name, pool]): [string, PoolUse] => {
    const { waiting, ...rest } = poolUse(pool)
    return [name, { ...rest, waiting: waiting + (turns[name]?.waiting ?? 0) }]
  })
  return Object.fromEntries(use)
}
