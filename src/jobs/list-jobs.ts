import { sql } from 'kysely'
import type { Handler } from '../contract/operation.ts'
import { pageOf } from '../contract/page.ts'
import { jobSummary, listName, summaryColumns } from './job-info.ts'

/** One page of jobs in the order they were accepted, or the newest first. */
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
      .select([...summaryColumns, listName(account).as('price_list_name')])
      .orderBy('id', query?.order === 'newest' ? 'desc' : 'asc')
      .offset(offset)
      .limit(limit)
      .execute()
    return { count, results: page.map(jobSummary) }
  })
