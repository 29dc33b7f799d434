import { sql } from 'kysely'
import type { Trx } from '../database/pool.ts'
import type { CurrentJob } from './attempt.ts'

/** Notes how many products or rows are handled; the number never falls, and is never over the total. */
export async function setFinished(trx: Trx, job: CurrentJob, finished: number): Promise<void> {
  await trx
    .updateTable('jobs')
    .set({
      finished: sql`greatest(finished, ${finished}::integer)`,
      total: sql`greatest(total, ${finished}::integer)`,
    })
    .where('account_id', '=', job.account_id)
    .where('id', '=', job.id)
    .execute()
}

/** The ids of the job's products from `from` on, `until` not among them, as the text of a Postgres array. */
export async function findProductIds(
  trx: Trx,
  job: CurrentJob,
  { from, until }: { from: number; until: number },
): Promise<string> {
  const slice = sql<string>`product_ids[${from + 1}::integer:${until}::integer]::text`
  const { ids } = await trx
    .selectFrom('jobs')
    .select(slice.as('ids'))
    .where('account_id', '=', job.account_id)
    .where('id', '=', job.id)
    .executeTakeFirstOrThrow()
  return ids
}

/** Notes the rows of the products from `from` on, with the progress. A chunk that is done again notes them again. */
export async function setRowIds(
  trx: Trx,
  job: CurrentJob,
  { from, rowIds, finished }: { from: number; rowIds: string; finished: number },
): Promise<void> {
  await trx
    .updateTable('jobs')
    .set({
      row_ids: sql`row_ids[:${from}::integer] || ${rowIds}::bigint[]`,
      finished: sql`greatest(finished, ${finished}::integer)`,
    })
    .where('account_id', '=', job.account_id)
    .where('id', '=', job.id)
    .execute()
}

/** Counts a fault of the job; answers how many there were. */
export async function countFault(trx: Trx, job: CurrentJob): Promise<number> {
  const { faults } = await trx
    .updateTable('jobs')
    .set({ faults: sql`faults + 1` })
    .where('account_id', '=', job.account_id)
    .where('id', '=', job.id)
    .returning('faults')
    .executeTakeFirstOrThrow()
  return faults
}
