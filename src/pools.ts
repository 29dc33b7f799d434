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

/** The connection pools of a process by purpose, so that no purpose waits for the connections of another. */
export type Pools = Record<
  'reads' | 'lists' | 'writes' | 'streams' | 'jobs' | 'keys' | 'health',
  Database
> & {
  /** Reads prices elsewhere (DATABASE_READ_URL). */
  replica?: Database
}

/**
 * Statements may take up to 30 s, so clients give up on a silent network after 32 s. Time alone cannot tell a longer
 * statement from a silent network; there TCP notices: after 20 s without a reply (keepalive), or after some 15 minutes
 * if the statement itself was lost (Linux, `tcp_retries2`). Other workers take over jobs long before that.
 */
const queryTimeoutMs = 32_000

export interface Addresses {
  url: string
  readUrl?: string | undefined
}

/**
 * Opens at most 12 connections plus 2.5 times `connections` (22 by default), and `connections` more to a replica;
 * `createBoss` opens 3 more.
 */
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
      // A request has a seat before it needs a connection, so this only limits how long a connection may take to open.
      acquireTimeoutMs: 1500,
      lockTimeoutMs: requestLockTimeoutMs,
      statementTimeoutMs: 30_000,
      ...options,
    })
  const reading = { client: ReadingClient, statementTimeoutMs: readStatementMs, queryTimeoutMs }
  // The first database can serve the read: a silent replica is given up soon.
  const ofReplica = { isReplica: true, queryTimeoutMs: readStatementMs + 2000 }
  return {
    reads: open('reads', reading),
    ...(readUrl && { replica: open('replica', { ...reading, ...ofReplica }, readUrl) }),
    // Pages count all rows; their own pool keeps them from delaying price reads.
    lists: open('lists', { ...reading, connectionsMax: listConnections(connections) }),
    writes: open('writes', { queryTimeoutMs }),
    // The ten million rows of a file arrive at the pace of a client, which may pause.
    streams: open('streams', {
      connectionsMax: streamConnections,
      acquireTimeoutMs: 2500,
      idleTimeoutMs: 120_000,
      statementTimeoutMs: 3_600_000,
    }),
    // Four jobs run at a time. A file holds a connection for its transaction and needs another to record its progress.
    jobs: open('jobs', {
      connectionsMax: 6,
      acquireTimeoutMs: 2500,
      lockTimeoutMs: 60_000,
      statementTimeoutMs: 300_000,
    }),
    // API keys are looked up before their request has a seat.
    keys: open('keys', { connectionsMax: 1, statementTimeoutMs: 2000, queryTimeoutMs: 4000 }),
    health: open('health', {
      connectionsMax: 1,
      acquireTimeoutMs: 2500,
      statementTimeoutMs: 2000,
      queryTimeoutMs: 4000,
    }),
  }
}
