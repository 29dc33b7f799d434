import {
  isJob,
  type Job,
  type JobInfo,
  type PricewellClient,
  Problem,
  type Schemas,
  Unreachable,
} from '../client/index.ts'
import type { Shared } from './program.ts'
import { startBar } from './terminal.ts'

type Plan = Schemas['Plan']

/** The result in a response, or that of the job in it. A plan that a job makes is read. */
export async function resultOf<Result extends object>(
  client: PricewellClient,
  answered: Result | JobInfo,
  options: Shared,
): Promise<Result | Plan> {
  if (!isJob(answered)) return answered
  const { result = [] } = await followJob(client, answered.id, options)
  return 'plan_id' in result ? readPlan(client, result.plan_id) : (result as Result)
}

/** As `showToEnd`, for a job that this command began. If it cannot be followed, the error has the job's id. */
export async function followJob(
  client: PricewellClient,
  id: number,
  options: Shared,
): Promise<Job> {
  try {
    return await showToEnd(client, id, options)
  } catch (error) {
    const isAway = error instanceof Problem && error.status >= 500
    if (!isAway && !(error instanceof Unreachable)) throw error
    const next = `The service finishes job ${id}: \`pricewell wait ${id}\` follows it.`
    throw new Unreachable(`${error.message} ${next}`, { cause: error })
  }
}

/** Shows a job's progress and returns the ended job. Throws JobFailed. */
export async function showToEnd(
  client: PricewellClient,
  id: number,
  options: Shared,
): Promise<Job> {
  const bar = startBar(`Job ${id}`, options)
  try {
    const onProgress = ({ finished, total }: { finished: number; total: number }) =>
      bar.show(finished, total)
    return await client.waitForJob(id, { onProgress })
  } finally {
    bar.stop()
  }
}

/** Reads a plan by its id. Throws `Problem` if there is none. */
export async function readPlan({ GET }: PricewellClient, id: number): Promise<Plan> {
  return (await GET('/api/v1/plans/{id}/', { params: { path: { id } } })).data
}
