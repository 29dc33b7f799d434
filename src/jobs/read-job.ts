import type { Handler, Schemas } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'

/** The state of a job, with its result when it is done. */
export const readJob: Handler<'readJob'> = ({ account, params, inAccount }) =>
  inAccount(async (trx) => {
    const row = await trx
      .selectFrom('jobs')
      .select([
        'id',
        'status',
        'total',
        'finished',
        'error',
        'created_at',
        'finished_at',
        'result',
        'errors',
      ])
      .where('account_id', '=', account)
      .where('id', '=', params.id)
      .executeTakeFirst()
    if (!row) throw new Problem('not-found', 'There is no such job.')
    return {
      ...jobSummary(row),
      ...(row.result !== null && { result: row.result as Schemas['RowIds'] }),
      errors: row.errors as Schemas['Job']['errors'],
    }
  })

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
