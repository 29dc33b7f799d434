import { isJob, JobFailed } from '../client/index.ts'
import { type Load, type Loaded, post } from './send-file.ts'
import { openClient } from './session.ts'

/**
 * Sends a file of products that are added to a price list, and follows the job that adds many. A job that failed and had
 * been asked for before is asked for anew.
 */
export async function addRows(load: Load): Promise<Loaded> {
  const { data, response } = await post(load, 'application/vnd.pricewell.feed+json')
  const isReplayed = response.headers.has('idempotent-replayed')
  if (!isJob(data)) return { ...(data as unknown as Loaded), isReplayed }
  const onProgress = ({ finished, total }: { finished: number; total: number }) =>
    load.onBytes((load.file.bytes * finished) / total)
  try {
    const job = await openClient(load).waitForJob(data.id, { onProgress })
    return { rows: job.progress.total, isReplayed }
  } catch (error) {
    if (!isReplayed || !(error instanceof JobFailed)) throw error
    return addRows({ ...load, key: `${load.key}-${data.id}` })
  }
}
