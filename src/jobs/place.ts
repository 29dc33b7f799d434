import { sql } from 'kysely'
import { Problem } from '../contract/problem.ts'
import type { Trx } from '../database/pool.ts'
import type { Turn } from './queue.ts'

/** Of an account, files not among them: those are fewer (ACCOUNT_FILES). */
const jobsMax = 1000
const retrySeconds = 60

/**
 * Throws `too-many-requests` when as many jobs of the account as it may have have not ended. Of those that are accepted at
 * the same time a few more may be.
 */
export async function rejectManyJobs(trx: Trx, account: number): Promise<void> {
  const { count } = await trx
    .selectFrom('jobs')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('account_id', '=', account)
    .where('kind', '<>', 'load-file')
    .where('status', '=', 'progress')
    .executeTakeFirstOrThrow()
  if (count < jobsMax) return
  const detail = `${count} jobs of this account wait or are under way already.`
  throw new Problem('too-many-requests', detail, {
    headers: { 'retry-after': String(retrySeconds) },
  })
}

/**
 * The place of a new turn in its queue, the least goes first: that of what is under way, and one further for each job
 * that the account has there already. So accounts take turns, however many jobs each of them has, and none waits for
 * ever (start-time fair queueing).
 */
export async function findPlace(
  trx: Trx,
  queue: string,
  { account, priceListId }: Turn,
): Promise<number> {
  const { rows } = await sql<{ place: number }>`
    select coalesce(
      (select max(-priority) from pgboss.job where name = ${queue}
        and state in ('active', 'retry', 'failed') and policy = 'key_strict_fifo'),
      (select -max(priority) from pgboss.job where name = ${queue}
        and state < 'active' and not blocked),
      0
    ) + (select count(*) from jobs where account_id = ${account} and status = 'progress'
      and (price_list_id is null) = ${priceListId === null})::integer as place`.execute(trx)
  return rows[0]?.place ?? 0
}
