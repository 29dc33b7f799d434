import type { Handler } from '../contract/operation.ts'
import { pageOf, readPage } from '../contract/read-page.ts'
import { jobSummary, listName, summaryColumns } from './job-info.ts'

/** One page of jobs, oldest or newest first. */
export const listJobs: Handler<'listJobs'> = ({ account, query, inAccount }) =>
  inAccount(async (trx) => {
    const { offset, limit } = pageOf(query)
    const { status, order } = query
    const jobs = trx
      .selectFrom('jobs')
      .where('account_id', '=', account)
      .$if(status !== undefined, (all) => all.where('status', '=', status ?? ''))
    const direction = order === 'newest' ? 'desc' : 'asc'
    const page = jobs
      .select([...summaryColumns, listName(account).as('price_list_name')])
      .orderBy('id', direction)
      .offset(offset)
      .limit(limit)
    const { count, rows } = await readPage(trx, { all: jobs, page, order: direction })
    return { count, results: rows.map(jobSummary) }
  })
