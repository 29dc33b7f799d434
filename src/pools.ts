import { streamConnections } from './config.ts'
import { readStatementMs } from './contract/read-cost.ts'
import { CopyingClient } from './database/copy.ts'
import { type Database, openDatabase, type PoolOptions } from './database/pool.ts'
import { ReadingClient } from './database/reading-client.ts'

/** The connections of a process, by what they are for. */
export type Pools = Record<
  'reads' | 'lists' | 'writes' | 'sending' | 'files' | 'jobs' | 'loads' | 'health',
  Database
>

/** Postgres waits twice for a row that others want too, first for the turn and then for the row: 2.5 seconds in all. */
const lockTurnMs = 1250

/**
 * Clients wait for statements of up to 30 s: when the network is silent they fail after 32 s. Time alone cannot tell a
 * longer statement from a silent network, so TCP notices there: after 20 s without an answer (keepalive), or after some 15
 * minutes where the statement itself was lost (Linux, `tcp_retries2`); jobs are taken up elsewhere long before that.
 */
const waitedFor = { queryTimeoutMs: 32_000 }

/** Reads, writes, jobs and health checks wait for their own connections only. */
export function openPools(
  url: string,
  connectionsMax: number,
  listeners: Pick<PoolOptions, 'onError' | 'onStatement'>,
): Pools {
  const open = (name: string, options: Partial<PoolOptions>) =>
    openDatabase(url, {
      name,
      ...listeners,
      connectionsMax,
      client: CopyingClient,
      // Requests have their turn before they come here: this is the time in which a connection must open.
      acquireTimeoutMs: 1500,
      lockTimeoutMs: lockTurnMs,
      statementTimeoutMs: 30_000,
      ...options,
    })
  const reading = { client: ReadingClient, statementTimeoutMs: readStatementMs }
  return {
    reads: open('reads', { ...waitedFor, ...reading }),
    // Pages count all rows: they have connections of their own, so that prices are read meanwhile.
    lists: open('lists', { ...waitedFor, ...reading }),
    writes: open('writes', waitedFor),
    // As long as a client takes to fetch a million rows.
    sending: open('sending', { connectionsMax: streamConnections, statementTimeoutMs: 600_000 }),
    // Ten million rows come and go at the pace of a client, which may pause.
    files: open('files', {
      connectionsMax: streamConnections,
      acquireTimeoutMs: 2500,
      idleTimeoutMs: 120_000,
      statementTimeoutMs: 3_600_000,
    }),
    ...openJobPools(open),
    health: open('health', {
      connectionsMax: 1,
      acquireTimeoutMs: 2500,
      statementTimeoutMs: 2000,
      queryTimeoutMs: 4000,
    }),
  }
}

function openJobPools(
  open: (name: string, options: Partial<PoolOptions>) => Database,
): Pick<Pools, 'jobs' | 'loads'> {
  const patience = { acquireTimeoutMs: 2500, lockTimeoutMs: 60_000 }
  return {
    jobs: open('jobs', { ...patience, connectionsMax: 6, statementTimeoutMs: 300_000 }),
    // A file of a job, in one transaction.
    loads: open('loads', { ...patience, connectionsMax: 4, statementTimeoutMs: 3_600_000 }),
  }
}
