import { sql } from 'kysely'
import { PgBoss } from 'pg-boss'
import {
  connectionTimeoutMillis,
  onOneConnection,
  withSessionSettings,
} from '../database/connection-setup.ts'
import { applicationRole, type Database } from '../database/pool.ts'
import type { QueueState } from '../telemetry/metrics.ts'

/**
 * What pg-boss queues: a slot of the list, used by the list's oldest job. (pg-boss orders by the start of the accepting
 * transactions, which is not the list order.) A null list stands for the account's file loads without a list.
 */
export interface Slot {
  account: number
  priceListId: number | null
}

/** Jobs of one list run one after another: the singleton key is account and list. */
export const listQueue = 'price-list'

/** File loads without a list, which therefore block no list: the singleton key is the account. */
export const fileQueue = 'file'

/** Holds scheduled plans until they are due. */
export const planQueue = 'plan'

/** Its schedule removes expired jobs, idempotency keys, plans and history. */
export const retentionQueue = 'job-retention'

/** After this long without a heartbeat, another worker takes over the job; 10 is the minimum of pg-boss. */
const heartbeatSeconds = 10
const superviseIntervalSeconds = 1
/** The longest lease of a worker that keeps sending heartbeats. */
const expireInSeconds = 6 * 3600
/** A slot that failed for good would block its list: workers decide when a job has failed, and pg-boss only retries. */
const retryLimit = 1_000_000
/** The default backoff. */
export const retryDelaySeconds = 1

/** pg-boss passes its options on to pg: after this time without a response, pg gives the connection up. */
const giveUpSilent: object = { query_timeout: 15_000, keepAlive: true }
/** Less than `query_timeout`: a statement abandoned here would go on waiting for its lock in the server. */
const lockTimeoutMs = 10_000
/** Processes that start at the same time install the queue one after another. */
const installationLock = 0x70726963

/**
 * Creates the queue client of a process. Processes that run jobs `supervise` the queue: they find jobs of dead workers
 * and run the schedules.
 */
export function createBoss(
  url: string,
  options: { supervise: boolean; onError: (error: Error) => void },
): PgBoss {
  const boss = new PgBoss({
    connectionString: withSessionSettings(url, { lock_timeout: lockTimeoutMs }),
    application_name: 'pricewell queue',
    max: 2,
    ...giveUpSilent,
    migrate: false,
    createSchema: false,
    schedule: options.supervise,
    supervise: options.supervise,
    superviseIntervalSeconds,
    monitorIntervalSeconds: superviseIntervalSeconds,
    // pg-boss sends and takes nothing until it has read its queues, which may fail at startup.
    queueCacheIntervalSeconds: 5,
    useListenNotify: true,
  })
  boss.on('error', options.onError)
  return boss
}

/** Installs pg-boss and its queues, and grants the application role access to them. `url` connects as the owner. */
export async function installQueue(url: string): Promise<void> {
  // A cluster has the queue on its coordinator only: a start must not wait for a node that is down.
  const local = withSessionSettings(url, { 'citus.enable_ddl_propagation': 'off' })
  await onOneConnection(local, async (client) => {
    await client.query('select pg_advisory_lock($1)', [installationLock])
    await createQueues(local)
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
    // A worker that dies while it enqueues plans that are due is noticed as fast as one that dies while running a job.
    await boss.createQueue(planQueue, {
      heartbeatSeconds,
      retryLimit,
      retryDelay: retryDelaySeconds,
    })
    await boss.createQueue(retentionQueue)
  } finally {
    await boss.stop({ graceful: false })
  }
}

/** Returns the unfinished jobs of all accounts and the age of the oldest, by whether an attempt has begun. */
export async function findQueueState(db: Database): Promise<QueueState[]> {
  const { rows } = await sql<QueueState>`
    select state, jobs, oldest_seconds as "oldestSeconds" from unfinished_jobs()`.execute(db)
  return rows
}
