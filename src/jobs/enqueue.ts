import { type InsertObject, sql } from 'kysely'
import { fromKysely, type PgBoss } from 'pg-boss'
import type { DB } from '../../generated/database.d.ts'
import { withName } from '../accounts/queries.ts'
import { Answer, type OperationId, type Origin, type Schemas } from '../contract/operation.ts'
import { tooManyRequests } from '../contract/problem.ts'
import type { Trx } from '../database/pool.ts'
import { jobInfo } from './job-info.ts'
import { lockListOrder } from './list-order.ts'
import { fileQueue, listQueue, type Slot } from './queue.ts'

export type JobKind = Schemas['JobKind']

export interface NewJob {
  account: number
  /** null for a file that belongs to no list. */
  priceListId: number | null
  kind: JobKind
  /** The number of its products, or of lines in its file. */
  total: number
  /** The ids of the products to add, or to remove, in payload order, as an array literal. */
  productIds?: string
  file?: JobFile
  /** The parameters of the call, for a job without a file. */
  call?: object
  origin: Origin
}

/** A stored file, and the request that sent it. */
export interface JobFile {
  id: string
  operation: OperationId
  mediaType: string
  query: object
}

/** Longer than any job waits: pg-boss would delete a slot after 14 days, even in a dump or while no worker runs. */
export const retentionSeconds = 50 * 365 * 86_400

/** Accepts a job: its row and its queue slot exist once `trx` commits. Throws `too-many-requests`. */
export async function enqueueJob(
  trx: Trx,
  boss: PgBoss,
  job: NewJob,
): Promise<Answer<Schemas['JobInfo']>> {
  const { account, priceListId } = job
  if (job.kind !== 'load-file') await rejectManyJobs(trx, account)
  const slot: Slot = { account, priceListId }
  await lockListOrder(trx, account, priceListId)
  const virtualStart = await findVirtualStart(trx, queueOf(slot), slot)
  const answer = await insertJob(trx, {
    account_id: account,
    price_list_id: priceListId,
    kind: job.kind,
    total: job.total,
    product_ids: sql`${job.productIds ?? null}::bigint[]`,
    file_id: job.file?.id ?? null,
    operation: job.file?.operation ?? null,
    media_type: job.file?.mediaType ?? null,
    query: JSON.stringify(job.file?.query ?? job.call ?? null),
    // The user may be gone when it runs.
    origin: JSON.stringify(await withName(trx, account, job.origin)),
    virtual_start: virtualStart,
    // The transaction may have begun an hour ago, when its file began to arrive.
    created_at: sql`clock_timestamp()`,
  })
  await boss.send(queueOf(slot), slot, {
    singletonKey: keyOf(slot),
    priority: -virtualStart,
    retentionSeconds,
    db: fromKysely(trx),
  })
  return answer
}

/** Work that was done within the request. */
interface EndedJob extends Pick<NewJob, 'account' | 'kind' | 'total' | 'origin'> {
  priceListId: number
  result: object
}

/** Stores work that was done within the request as a finished job, and returns that job. */
export function insertEndedJob(
  trx: Trx,
  { account, priceListId, kind, total, result, origin }: EndedJob,
): Promise<Answer<Schemas['JobInfo']>> {
  return insertJob(trx, {
    account_id: account,
    price_list_id: priceListId,
    kind,
    status: 'done',
    total,
    finished: total,
    result: JSON.stringify(result),
    origin: JSON.stringify(origin),
    finished_at: sql`clock_timestamp()`,
  })
}

async function insertJob(
  trx: Trx,
  job: InsertObject<DB, 'jobs'>,
): Promise<Answer<Schemas['JobInfo']>> {
  const row = await trx
    .insertInto('jobs')
    .values(job)
    .returning(['id', 'status', 'total', 'finished', 'error', 'kind'])
    .executeTakeFirstOrThrow()
  return new Answer(jobInfo(row), { location: `/api/v1/jobs/${row.id}/` })
}

function queueOf({ priceListId }: Slot): string {
  return priceListId === null ? fileQueue : listQueue
}

function keyOf({ account, priceListId }: Slot): string {
  return priceListId === null ? String(account) : `${account}:${priceListId}`
}

/**
 * Start-time fair queueing: the slot with the lowest virtual start is next. A new slot gets the virtual start of the
 * next slot in the queue, but at least one more than the account's last job if that is unfinished or ended while other
 * jobs waited. So workers alternate between accounts, however many jobs each sends, and no job waits forever.
 */
async function findVirtualStart(
  trx: Trx,
  queue: string,
  { account, priceListId }: Slot,
): Promise<number> {
  const { rows } = await sql<{ start: number }>`
    with waiting as (
      select -max(priority) as start, min(created_on) as since from pgboss.job
      where name = ${queue} and state < 'active' and not blocked),
    running as (
      select max(-priority) as start from pgboss.job
      where name = ${queue} and state in ('active', 'retry', 'failed') and policy = 'key_strict_fifo'),
    own as (
      select virtual_start, status, finished_at from jobs
      where account_id = ${account} and (price_list_id is null) = ${priceListId === null} and status <> 'cancelled'
        and virtual_start is not null
      order by id desc limit 1)
    select greatest(
      coalesce(waiting.start, running.start, 0),
      (select virtual_start + 1 from own where status = 'progress' or finished_at > waiting.since)
    ) as start
    from waiting, running`.execute(trx)
  return rows[0]?.start ?? 0
}

/** The most unfinished jobs per account, not counting file loads. */
const jobsMax = 1000
/** A large file takes minutes, at some 30,000 rows per second. */
const retrySeconds = 60

/** Throws `too-many-requests` at 1,000 unfinished jobs of the account. Concurrent requests may exceed it slightly. */
async function rejectManyJobs(trx: Trx, account: number): Promise<void> {
  const count = await countUnfinished(trx, account, '<>')
  if (count >= jobsMax)
    throw tooManyRequests(
      `${count} jobs of this account wait or are under way already.`,
      retrySeconds,
    )
}

/** Throws `too-many-requests` if the account has `filesMax` unfinished file loads. */
export async function rejectManyFiles(trx: Trx, account: number, filesMax: number): Promise<void> {
  const count = await countUnfinished(trx, account, '=')
  if (count >= filesMax)
    throw tooManyRequests(`${count} files of this account wait to be loaded already.`, retrySeconds)
}

/** `=` counts jobs that load files, `<>` the others. */
async function countUnfinished(trx: Trx, account: number, isFile: '=' | '<>'): Promise<number> {
  const { count } = await trx
    .selectFrom('jobs')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('account_id', '=', account)
    .where('kind', isFile, 'load-file')
    .where('status', '=', 'progress')
    .executeTakeFirstOrThrow()
  return count
}
