import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { Jobs } from '../../generated/database.d.ts'
import type { Schemas } from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import { withoutAbsent } from '../contract/read-page.ts'
import type { Trx } from '../database/pool.ts'

type JobRow = Pick<Selectable<Jobs>, 'id' | 'kind' | 'status' | 'total' | 'finished' | 'error'>

/** A job as returned by the request that starts it. */
export function jobInfo({ id, kind, status, total, finished, error }: JobRow): Schemas['JobInfo'] {
  const progress = { total, finished, error }
  return {
    id,
    status: status as Schemas['JobStatus'],
    resource_type: kind === 'load-file' ? 'file' : 'published-price-list',
    progress,
  }
}

/** The columns that a `jobSummary` needs; `listName` adds the last one. */
export const summaryColumns = [
  ...(['id', 'status', 'total', 'finished', 'error'] as const),
  ...(['kind', 'price_list_id', 'operation', 'created_at', 'finished_at'] as const),
]

type SummaryRow = Pick<Selectable<Jobs>, (typeof summaryColumns)[number]> & {
  price_list_name: string | null
}

/** SQL of the name of the list of a job or plan; null if it has none or the list was deleted. */
export function listName(account: number, of: 'jobs' | 'plans'): RawBuilder<string | null> {
  return sql`(
    select l.name from price_lists l where l.account_id = ${account} and l.id = ${sql.ref(`${of}.price_list_id`)}
  )`
}

/** A job as it appears in the job list. */
export function jobSummary(row: SummaryRow): Schemas['JobSummary'] {
  const { price_list_id, price_list_name, operation } = row
  return {
    ...jobInfo(row),
    kind: row.kind as Schemas['JobKind'],
    ...withoutAbsent({ price_list_id, price_list_name, operation }),
    created_at: row.created_at.toISOString(),
    ...(row.finished_at && { finished_at: row.finished_at.toISOString() }),
  }
}

/** Returns a job with its result. Throws `not-found`, also for another account's job. */
export async function findJob(trx: Trx, account: number, id: number): Promise<Schemas['Job']> {
  const row = await trx
    .selectFrom('jobs')
    .select([
      ...summaryColumns,
      'errors',
      'revision',
      listName(account, 'jobs').as('price_list_name'),
    ])
    // A result may be stored before it is published.
    .select(sql`case when status = 'done' then coalesce(result, to_json(row_ids)) end`.as('result'))
    .where('account_id', '=', account)
    .where('id', '=', id)
    .executeTakeFirst()
  if (!row) throw new Problem('not-found', 'There is no such job.')
  return {
    ...jobSummary(row),
    ...(row.result !== null && { result: row.result as NonNullable<Schemas['Job']['result']> }),
    ...(row.revision !== null && { revision: row.revision }),
    errors: row.errors as Schemas['Job']['errors'],
  }
}
