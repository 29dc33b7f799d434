import { sql } from 'kysely'
import type { Trx } from '../database/pool.ts'
import type { Turn } from './queue.ts'

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
