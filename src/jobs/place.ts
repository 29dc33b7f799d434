import { sql } from 'kysely'
import type { Trx } from '../database/pool.ts'
import type { Turn } from './queue.ts'

/**
 * The place of a new turn in its queue, the least goes first: that of whoever is next, but one further than the last job
 * of the account, if that has not ended or ended while somebody waited. So accounts take turns, however many jobs each of
 * them has or sends one after the other, and none waits for ever (start-time fair queueing).
 */
export async function findPlace(
  trx: Trx,
  queue: string,
  { account, priceListId }: Turn,
): Promise<number> {
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
