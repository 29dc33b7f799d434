import {
  isJob,
  type Job,
  JobFailed,
  type JobInfo,
  type PricewellClient,
  type Schemas,
} from '../client/index.ts'
import { program, tell } from './program.ts'
import { endingWith, startBar } from './terminal.ts'

type Plan = Schemas['Plan']

/** The result in a response, or that of the job in it. A plan that a job makes is read. */
export async function resultOf<Result extends object>(
  client: PricewellClient,
  answered: Result | JobInfo,
): Promise<Result | Plan> {
  if (!isJob(answered)) return answered
  const { result = [] } = await followJob(client, answered.id)
  return 'plan_id' in result ? readPlan(client, result.plan_id) : (result as Result)
}

/** Shows the progress of a job that this command began, and returns the ended job. Throws `JobFailed`. */
export function followJob(client: PricewellClient, id: number): Promise<Job> {
  return withProgress(id, (onProgress) =>
    waitOrTell({ id }, () => client.waitForJob(id, { onProgress })),
  )
}

/** Shows a job's progress and returns the ended job. Throws `JobFailed`. */
export function showToEnd(client: PricewellClient, id: number): Promise<Job> {
  return withProgress(id, (onProgress) => client.waitForJob(id, { onProgress }))
}

async function withProgress(
  id: number,
  wait: (onProgress: (progress: { finished: number; total: number }) => void) => Promise<Job>,
): Promise<Job> {
  const bar = startBar(`Job ${id}`, program.opts())
  try {
    return await wait(({ finished, total }) => bar.show(finished, total))
  } finally {
    bar.stop()
  }
}

/** Waits for a job. If the command ends before the job, tells on standard error how to follow it. */
export async function waitOrTell(
  { id, of = '' }: { id: number; of?: string },
  wait: () => Promise<Job>,
): Promise<Job> {
  const message = `Job ${id} continues${of}: \`pricewell wait ${id}\` follows it.`
  const forgetEnd = endingWith(() => tell(message, { job_id: id }))
  try {
    const job = await wait()
    forgetEnd()
    return job
  } catch (error) {
    if (error instanceof JobFailed) forgetEnd()
    throw error
  }
}

/** Reads a plan by its id. Throws `Problem` if there is none. */
export async function readPlan({ GET }: PricewellClient, id: number): Promise<Plan> {
  return (await GET('/api/v1/plans/{id}/', { params: { path: { id } } })).data
}
