import { sql } from 'kysely'
import { fromKysely, type PgBoss } from 'pg-boss'
import { Answer, type OperationId, type Schemas } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import type { Trx } from '../database/pool.ts'
import { jobInfo } from './job-info.ts'
import { lockTurns } from './list-order.ts'
import { fileQueue, listQueue, type Turn } from './queue.ts'

export type JobKind = Schemas['JobKind']

export interface NewJob {
  account: number
  /** null: a file that is for no list. */
  priceListId: number | null
  kind: JobKind
  /** How many products it will handle, or lines a file has. */
  total: number
  /** The products to add, in payload order, as the text of a Postgres array. */
  productIds?: string
  file?: JobFile
}

/** A stored file, and what is to be done with it. */
export interface JobFile {
  id: string
  operation: OperationId
  mediaType: string
  query: object
}

/** A turn is there as long as its job: pg-boss would delete one that has waited for 14 days, in a dump or while all was off. */
const retentionSeconds = 50 * 365 * 86_400

/**
 * Accepts a job: its row and its place in the queue are there when the transaction commits. Answers the job; throws
 * `too-many-requests`.
 */
export async function enqueueJob(
  trx: Trx,
  boss: PgBoss,
  job: NewJob,
): Promise<Answer<Schemas['JobInfo']>> {
  const { account, priceListId } = job
  if (job.kind !== 'load-file') await rejectManyJobs(trx, account)
  const turn: Turn = { account, priceListId }
  await lockTurns(trx, account, priceListId)
  const place = await findPlace(trx, queueOf(turn), turn)
  const row = await trx
    .insertInto('jobs')
    .values({
      account_id: account,
      price_list_id: priceListId,
      kind: job.kind,
      total: job.total,
      product_ids: sql`${job.productIds ?? null}::bigint[]`,
      file_id: job.file?.id ?? null,
      operation: job.file?.operation ?? null,
      media_type: job.file?.mediaType ?? null,
      query: job.file ? JSON.stringify(job.file.query) : null,
      place,
      // The transaction began with a file, which may have taken an hour to arrive.
      created_at: sql`clock_timestamp()`,
    })
    .returning(['id', 'status', 'total', 'finished', 'error', 'kind'])
    .executeTakeFirstOrThrow()
  await boss.send(queueOf(turn), turn, {
    singletonKey: keyOf(turn),
    priority: -place,
    retentionSeconds,
    db: fromKysely(trx),
  })
  return new Answer(jobInfo(row), { location: `/api/v1/jobs/${row.id}/` })
}

function queueOf({ priceListId }: Turn): string {
  return priceListId === null ? fileQueue : listQueue
}

function keyOf({ account, priceListId }: Turn): string {
  return priceListId === null ? String(account) : `${account}:${priceListId}`
}

/**
 * The place of a new turn in its queue, the least goes first: that of whoever is next, but one further than the last job
 * of the account, if that has not ended or ended while somebody waited. So accounts take turns, however many jobs each of
 * them has or sends one after the other, and none waits for ever (start-time fair queueing).
 */
async function findPlace(trx: Trx, queue: string, { account, priceListId }: Turn): Promise<number> {
  const { rows } = await sql<{ place: number }>`
    with waiting as (
      select -max(priority) as place, min(created_on) as since from pgboss.job
      where name = ${queue} and state < 'active' and not blocked),
    under_way as (
      select max(-priority) as place from pgboss.job
      where name = ${queue} and state in ('active', 'retry', 'failed') and policy = 'key_strict_fifo'),
    own as (
      select place, status, finished_at from jobs
      where account_id = ${account} and (price_list_id is null) = ${priceListId === null} and status <> 'cancelled'
      order by id desc limit 1)
    select greatest(
      coalesce(waiting.place, under_way.place, 0),
      (select place + 1 from own where status = 'progress' or finished_at > waiting.since)
    ) as place
    from waiting, under_way`.execute(trx)
  return rows[0]?.place ?? 0
}

/** Of an account, files not among them. */
const jobsMax = 1000
/** Files are loaded at some 30,000 rows a second: a large one takes minutes. */
const retrySeconds = 60

/**
 * Throws `too-many-requests` when as many jobs of the account as it may have have not ended. Of those that are accepted at
 * the same time a few more may be.
 */
async function rejectManyJobs(trx: Trx, account: number): Promise<void> {
  const count = await countUnfinished(trx, account, '<>')
  if (count >= jobsMax)
    throw tooMany(`${count} jobs of this account wait or are under way already.`)
}

/** `rejectManyJobs` for files that are stored for jobs, of which the account may have `filesMax`. */
export async function rejectManyFiles(trx: Trx, account: number, filesMax: number): Promise<void> {
  const count = await countUnfinished(trx, account, '=')
  if (count >= filesMax) throw tooMany(`${count} files of this account wait to be loaded already.`)
}

/** Jobs that load files (`=`), or the others. */
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

function tooMany(detail: string): Problem {
  const headers = { 'retry-after': String(retrySeconds) }
  return new Problem('too-many-requests', detail, { headers })
}
