import { transaction } from '../contract/operation.ts'
import { readPage } from '../contract/read-page.ts'
import { jobSummary, listName, summaryColumns } from './job-info.ts'

/** One page of jobs, oldest or newest first. */
export const listJobs = transaction<'listJobs'>(async (trx, { account, query }) => {
  const { status, order } = query
  const jobs = trx
    .selectFrom('jobs')
    .where('account_id', '=', account)
    .$if(status !== undefined, (all) => all.where('status', '=', status ?? ''))
  const { count, rows } = await readPage(trx, {
    all: jobs,
    rows: jobs.select([...summaryColumns, listName(account, 'jobs').as('price_list_name')]),
    query,
    order: order === 'newest' ? 'desc' : 'asc',
  })
  return { count, results: rows.map(jobSummary) }
})
