import { Option } from '@commander-js/extra-typings'
import type { Job, PricewellClient } from '../../client/index.ts'
import { showToEnd } from '../follow-job.ts'
import { idShownBy } from '../option-values.ts'
import { answer, type Program } from '../program.ts'
import { openClient } from '../session.ts'
import { table } from '../terminal.ts'

const shown = 25

export function addJobs(program: Program): void {
  program
    .command('jobs')
    .description(`Shows the last ${shown} background jobs.`)
    .addOption(
      new Option('--status <status>', 'only jobs with this status').choices([
        ...(['progress', 'done', 'failed', 'cancelled'] as const),
      ]),
    )
    .addHelpText('after', '\nExample:\n  pricewell jobs --status failed')
    .action(async (options) => {
      const jobs = await lastJobs(openClient(), options.status)
      const rows = jobs.map(({ id, kind, status, progress, created_at, ...job }) => ({
        ...{ id, kind, file: job.operation, list: job.price_list_name, status },
        finished: progress.finished,
        total: progress.total,
        accepted: created_at,
        ended: job.finished_at,
      }))
      answer(jobs, table(rows, 'There are no jobs.'))
    })
}

/** Newest last, at the bottom of the terminal. */
async function lastJobs({ GET }: PricewellClient, status: Job['status'] | undefined) {
  const query = { limit: shown, order: 'newest' as const, ...(status && { status }) }
  const { data } = await GET('/api/v1/jobs/', { params: { query } })
  return data.results.toReversed()
}

export function addWait(program: Program): void {
  program
    .command('wait')
    .description('Follows a background job to its end. Exits with 1 unless it succeeds.')
    .argument('<id>', 'the id of the job', idShownBy('pricewell jobs'))
    .addHelpText('after', '\nExample:\n  pricewell wait 7 && echo published')
    .action(async (id) => {
      const job = await showToEnd(openClient(), id)
      const handled = job.resource_type === 'file' ? 'rows' : 'products'
      answer(job, `Job ${id} is done: ${job.progress.finished} ${handled}.`)
    })
}

export function addCancel(program: Program): void {
  program
    .command('cancel')
    .description('Cancels a waiting or running background job. None of it is written.')
    .argument('<id>', 'the id of the job', idShownBy('pricewell jobs'))
    .addHelpText('after', '\nExample:\n  pricewell cancel 7')
    .action(async (id) => {
      const { data } = await openClient().POST('/api/v1/jobs/{id}/cancel/', {
        params: { path: { id } },
      })
      answer(data, `Job ${id} is cancelled. None of it was written.`)
    })
}
