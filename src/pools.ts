import { listConnections, streamConnections } from './config.ts'
import { readStatementMs } from './contract/read-cost.ts'
import { CopyingClient } from './database/copy.ts'
import {
  type Database,
  openDatabase,
  type PoolOptions,
  requestLockTimeoutMs,
} from './database/pool.ts'
import { ReadingClient } from './database/reading-client.ts'

/** The connections of a process, by their purpose: none waits for the connections of another purpose. */
export type Pools = Record<
  'reads' | 'lists' | 'writes' | 'streams' | 'jobs' | 'keys' | 'health',
  Database
> & {
  /** Reads prices elsewhere (DATABASE_READ_URL). */
  replica?: Database
}

/**
 * Clients wait for statements of up to 30 s: when the network is silent they fail after 32 s. Time alone cannot tell a
 * longer statement from a silent network, so TCP notices there: after 20 s without an answer (keepalive), or after some 15
 * minutes where the statement itself was lost (Linux, `tcp_retries2`); jobs are taken up elsewhere long before that.
 */
const queryTimeoutMs = 32_000

/** Where the connections of a process lead. */
export interface Addresses {
  url: string
  readUrl?: string | undefined
}

/** Opens 12 connections and 2.5 times `connections` at most, 22 by default; `createBoss` opens 3 more. */
export function openPools(
  { url, readUrl }: Addresses,
  connections: number,
  listeners: Pick<PoolOptions, 'onError' | 'onStatement'>,
): Pools {
  const open = (name: string, options: Partial<PoolOptions>, address = url) =>
    openDatabase(address, {
      name,
      ...listeners,
      connectionsMax: connections,
      client: CopyingClient,
      // Requests have a seat before they need a connection: this is the time in which a connection must open.
      acquireTimeoutMs: 1500,
      lockTimeoutMs: requestLockTimeoutMs,
      statementTimeoutMs: 30_000,
      ...options,
    })
  const reading = { client: ReadingClient, statementTimeoutMs: readStatementMs, queryTimeoutMs }
  return {
    reads: open('reads', reading),
    ...(readUrl && { replica: open('replica', { ...reading, isReplica: true }, readUrl) }),
    // Pages count all rows: prices are read meanwhile.
    lists: open('lists', { ...reading, connectionsMax: listConnections(connections) }),
    writes: open('writes', { queryTimeoutMs }),
    // Ten million rows of a file arrive at the pace of a client, which may pause.
    streams: open('streams', {
      connectionsMax: streamConnections,
      acquireTimeoutMs: 2500,
      idleTimeoutMs: 120_000,
      statementTimeoutMs: 3_600_000,
    }),
    // Four jobs run at a time. A file holds a connection for its transaction and needs another to note its progress.
    jobs: open('jobs', {
      connectionsMax: 6,
      acquireTimeoutMs: 2500,
      lockTimeoutMs: 60_000,
      statementTimeoutMs: 300_000,
    }),
    // API keys are looked up before there is a seat for their request.
    keys: open('keys', { connectionsMax: 1, statementTimeoutMs: 2000, queryTimeoutMs: 4000 }),
    health: open('health', {
      connectionsMax: 1,
      acquireTimeoutMs: 2500,
      statementTimeoutMs: 2000,
      queryTimeoutMs: 4000,
    }),
  }
}
