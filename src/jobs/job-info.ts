import { sql } from 'kysely'
import type { Schemas } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import type { Trx } from '../database/pool.ts'

interface JobRow {
  id: number
  status: string
  total: number
  finished: number
  error: number
}

/** A job as the call that started it answers it. */
export function jobInfo({ id, status, total, finished, error }: JobRow): Schemas['JobInfo'] {
  const progress = { total, finished, error }
  return {
    id,
    status: status as Schemas['JobStatus'],
    resource_type: 'published-price-list',
    progress,
  }
}

/** A job as the list of jobs shows it. */
export function jobSummary(
  row: JobRow & { created_at: Date; finished_at: Date | null },
): Schemas['JobSummary'] {
  return {
    ...jobInfo(row),
    created_at: row.created_at.toISOString(),
    ...(row.finished_at && { finished_at: row.finished_at.toISOString() }),
  }
}

/** The job with its result; throws `not-found`, alike for what does not exist and what another account has. */
export async function findJob(trx: Trx, account: number, id: number): Promise<Schemas['Job']> {
  const row = await trx
    .selectFrom('jobs')
    .select(['id', 'status', 'total', 'finished', 'error', 'created_at', 'finished_at', 'errors'])
    // A result may be noted before what it tells is published.
    .select(sql`case when status = 'done' then coalesce(result, to_json(row_ids)) end`.as('result'))
    .where('account_id', '=', account)
    .where('id', '=', id)
    .executeTakeFirst()
  if (!row) throw new Problem('not-found', 'There is no such job.')
  return {
    ...jobSummary(row),
    ...(row.result !== null && { result: row.result as NonNullable<Schemas['Job']['result']> }),
    errors: row.errors as Schemas['Job']['errors'],
  }
}
