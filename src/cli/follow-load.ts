import { type Job, JobFailed, type JobInfo, Problem } from '../client/index.ts'
import { endingWith } from './ending-with.ts'
import { printable } from './printable.ts'
import type { Load, Loaded } from './send-file.ts'
import { openClient } from './session.ts'

/**
 * Follows the job that does what a file asks for. Throws a `Problem` with the bad lines where it refuses the file, and
 * `JobFailed` where it ends otherwise without its work being done. A command that ends before tells where it goes on.
 */
export async function followLoad(load: Load, { id }: JobInfo): Promise<Loaded> {
  const onProgress = ({ finished, total }: JobInfo['progress']) =>
    load.onBytes((load.file.bytes * finished) / Math.max(total, 1))
  const forgetEnd = endingWith(() => tellOnGoing(load, id))
  try {
    const { result = [], progress } = await openClient(load).waitForJob(id, { onProgress })
    forgetEnd()
    return 'rows' in result ? result : { rows: progress.total }
  } catch (error) {
    if (error instanceof JobFailed) forgetEnd()
    throw (error instanceof JobFailed && refusal(error.job)) || error
  }
}

function tellOnGoing({ file, json }: Load, id: number): void {
  const message = `Job ${id} goes on with ${file.name}: \`pricewell wait ${id}\` follows it.`
  console.error(json ? JSON.stringify({ message, job_id: id }) : printable(message))
}

/** What the file would have been answered at once; undefined: the job did not fail by the file. */
function refusal({ errors, progress: { error: count } }: Job): Problem | undefined {
  const rows = errors.flatMap(({ pointer, ...error }) =>
    pointer === undefined ? [] : { ...error, pointer },
  )
  const [tooLarge] = errors.filter(({ code }) => code === 'payload-too-large')
  if (rows.length === 0 && !tooLarge) return undefined
  return new Problem({
    ...{ type: tooLarge ? 'payload-too-large' : 'invalid-request', title: 'The file was refused' },
    ...{ status: tooLarge ? 413 : 400, instance: '', error_count: count },
    detail:
      tooLarge?.message ?? `${count} ${count === 1 ? 'error' : 'errors'}. Nothing was written.`,
    errors: rows as Problem['errors'],
  })
}
