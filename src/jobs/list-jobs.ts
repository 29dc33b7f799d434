import { sql } from 'kysely'
import type { Handler } from '../contract/operation.ts'
import { pageOf } from '../contract/page.ts'
import { jobSummary } from './job-info.ts'

/** One page of jobs in the order they were accepted. */
export const listJobs: Handler<'listJobs'> = ({ account, query, inAccount }) =>
  inAccount(async (trx) => {
    const { offset, limit } = pageOf(query)
    const status = query?.status
    const jobs = trx
      .selectFrom('jobs')
      .where('account_id', '=', account)
      .$if(status !== undefined, (all) => all.where('status', '=', status ?? ''))
    const { count } = await jobs.select(sql<number>`count(*)`.as('count')).executeTakeFirstOrThrow()
    const page = await jobs
      .select(['id', 'status', 'total', 'finished', 'error', 'created_at', 'finished_at'])
      .orderBy('id')
      .offset(offset)
      .limit(limit)
      .execute()
    return { count, results: page.map(jobSummary) }
  })
