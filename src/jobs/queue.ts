import { sql } from 'kysely'
import { PgBoss } from 'pg-boss'
import {
  connectionTimeoutMillis,
  onOneConnection,
  withSessionSettings,
} from '../database/connection-setup.ts'
import { applicationRole, type Database } from '../database/pool.ts'
import type { QueueState } from '../telemetry/telemetry.ts'

/**
 * What pg-boss carries: a turn for the list, taken by the oldest of its jobs. (pg-boss orders by the start of the
 * accepting transactions, which is not the order in which they had the list.) Without a list it is a turn for the files
 * of the account that are for none.
 */
export interface Turn {
  account: number
  priceListId: number | null
}

/** One queue, jobs of one list in the order they were sent (the singleton key is account and list). */
export const listQueue = 'price-list'

/** Files that are for no list, in the order they were sent (the singleton key is the account); they hold up no list. */
export const fileQueue = 'file'

/** Its schedule says when old jobs are removed. */
export const retentionQueue = 'job-retention'

/**
 * A silent worker's job is taken up by another after this many seconds, the least that pg-boss takes; the supervisor
 * looks every second.
 */
const heartbeatSeconds = 10
const superviseIntervalSeconds = 1
/** The heartbeat guards against dead workers; this only ends what would run for ever. */
const expireInSeconds = 6 * 3600
/** A queued job that fails for good would hold up its list, so the worker ends jobs itself and pg-boss only retries. */
const retryLimit = 1_000_000
/** Between two tries, where nothing speaks for a longer pause. */
export const retryDelaySeconds = 1

/** A connection that the network swallows is given up after this time, and the queue goes on with another one. */
const silence: object = { query_timeout: 15_000, keepAlive: true }
/** Less than that: what is given up here would go on waiting in the server, and each further connection would, too. */
const lockTimeoutMs = 10_000
/** Processes that start at once install the queue one after the other. */
const installationLock = 0x70726963

/** The queue of a process. `supervise` for processes that run jobs: it finds those of dead workers, and keeps schedules. */
export function createBoss(
  url: string,
  options: { supervise: boolean; onError: (error: Error) => void },
): PgBoss {
  const boss = new PgBoss({
    connectionString: withSessionSettings(url, { lock_timeout: lockTimeoutMs }),
    application_name: 'pricewell queue',
    max: 2,
    ...silence,
    migrate: false,
    createSchema: false,
    schedule: options.supervise,
    supervise: options.supervise,
    superviseIntervalSeconds,
    monitorIntervalSeconds: superviseIntervalSeconds,
    // Nothing is sent or taken until it has read them, which may fail when it starts.
    queueCacheIntervalSeconds: 5,
    useListenNotify: true,
  })
  boss.on('error', options.onError)
  return boss
}

/** Installs pg-boss and the queue, and lets the application role send jobs. `url` connects as the owner. */
export async function installQueue(url: string): Promise<void> {
  await onOneConnection(url, async (client) => {
    await client.query('select pg_advisory_lock($1)', [installationLock])
    await createQueues(url)
    await client.query(`grant usage on schema pgboss to ${applicationRole}`)
    await client.query(
      `grant select, insert, update, delete on all tables in schema pgboss to ${applicationRole}`,
    )
  })
}

async function createQueues(url: string): Promise<void> {
  const boss = new PgBoss({
    connectionString: url,
    connectionTimeoutMillis,
    max: 2,
    supervise: false,
    schedule: false,
  })
  boss.on('error', () => undefined)
  try {
    await boss.start()
    for (const queue of [listQueue, fileQueue]) {
      await boss.createQueue(queue, {
        policy: 'key_strict_fifo',
        notify: true,
        heartbeatSeconds,
        expireInSeconds,
        retryLimit,
        retryDelay: retryDelaySeconds,
      })
    }
    await boss.createQueue(retentionQueue)
  } finally {
    await boss.stop({ graceful: false })
  }
}

/** The jobs of all accounts that have not ended, by whether a try at them has begun. */
export async function findQueueState(db: Database): Promise<QueueState[]> {
  const { rows } = await sql<QueueState>`
    select state, jobs, oldest_seconds as "oldestSeconds" from unfinished_jobs()`.execute(db)
  return rows
}
