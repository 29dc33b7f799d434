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
 * What pg-boss queues: a slot for the list, used by the oldest of its jobs. (pg-boss orders by the start of the accepting
 * transactions, which is not the list order.) Without a list it is a slot for the account's files for no list.
 */
export interface Slot {
  account: number
  priceListId: number | null
}

/** Jobs of one list run one after the other: the singleton key is account and list. */
export const listQueue = 'price-list'

/** Files for no list, which hold up no list: the singleton key is the account. */
export const fileQueue = 'file'

/** Plans wait here for their moment. */
export const planQueue = 'plan'

/** Its schedule removes expired jobs and keys. */
export const retentionQueue = 'job-retention'

/** Another worker takes a job up after so many seconds without a heartbeat: 10 is the minimum of pg-boss. */
const heartbeatSeconds = 10
const superviseIntervalSeconds = 1
/** The lease of a worker that sends heartbeats. */
const expireInSeconds = 6 * 3600
/** A slot that fails for good would hold up its list: workers end jobs, and pg-boss only retries. */
const retryLimit = 1_000_000
/** The usual backoff. */
export const retryDelaySeconds = 1

/** For pg, to which pg-boss passes its options: after this time without an answer another connection is opened. */
const giveUpSilent: object = { query_timeout: 15_000, keepAlive: true }
/** Less than that: a statement that is given up here would go on waiting for its lock in the server. */
const lockTimeoutMs = 10_000
/** Processes that start at once install the queue one after the other. */
const installationLock = 0x70726963

/** The queue of a process. Processes that run jobs `supervise` it: they find jobs of dead workers and keep schedules. */
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
    // pg-boss sends and takes nothing until it has read its queues, which may fail at its start.
    queueCacheIntervalSeconds: 5,
    useListenNotify: true,
  })
  boss.on('error', options.onError)
  return boss
}

/** Installs pg-boss and its queues, and grants them to the application role. `url` connects as the owner. */
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
    // A worker that dies with a plan in its hands is noticed as fast as one with a job.
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

/** The unfinished jobs of all accounts, by whether an attempt has begun. */
export async function findQueueState(db: Database): Promise<QueueState[]> {
  const { rows } = await sql<QueueState>`
    select state, jobs, oldest_seconds as "oldestSeconds" from unfinished_jobs()`.execute(db)
  return rows
}
