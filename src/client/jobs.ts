import type { components } from '../../generated/openapi-client.d.ts'
import { Problem, sentence, Unreachable } from './problem.ts'
import { pause } from './retry.ts'

export type Job = components['schemas']['Job']
export type JobInfo = components['schemas']['JobInfo']

export interface WaitOptions {
  /** Called immediately and on each change. */
  onProgress?: (progress: JobInfo['progress']) => void
  signal?: AbortSignal
}

/** A background job failed or was cancelled. */
export class JobFailed extends Error {
  override readonly name = 'JobFailed'
  readonly job: Job

  constructor(job: Job) {
    super([`Job ${job.id}: ${job.status}.`, ...job.errors.slice(0, 3).map(sentence)].join(' '))
    this.job = job
  }
}

/** Whether the response is a job instead of a result, as for more than 100 products, or for files on request. */
export function isJob(answer: object): answer is JobInfo {
  return 'resource_type' in answer && 'progress' in answer
}

/** Opens the server-sent events of a job. */
type OpenEvents = (id: number, signal?: AbortSignal) => Promise<ReadableStream<Uint8Array>>

/** How long a service that restarts may be away while a job is followed. */
const outageMs = 60_000

/**
 * Follows a job to its end; once connected, also through an outage of a minute. Throws `JobFailed` unless the job ends
 * as `done`.
 */
export async function waitForJob(
  open: OpenEvents,
  id: number,
  { onProgress, signal }: WaitOptions,
): Promise<Job> {
  let connectedAt = Number.NEGATIVE_INFINITY
  for (;;) {
    const stream = await open(id, signal).catch((error: unknown) => {
      if (!isOutage(error) || performance.now() - connectedAt > outageMs) throw error
    })
    for await (const { event, data } of stream ? readEvents(stream) : []) {
      const job = JSON.parse(data)
      onProgress?.(job.progress)
      if (event === 'end') return done(job)
    }
    if (stream) connectedAt = performance.now()
    await pause(1, signal)
  }
}

const isOutage = (error: unknown) =>
  error instanceof Unreachable ||
  (error instanceof Problem && [429, 502, 503, 504].includes(error.status))

function done(job: Job): Job {
  if (job.status !== 'done') throw new JobFailed(job)
  return job
}

/** The events of a stream, until it ends or breaks off. */
async function* readEvents(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<{ event: string; data: string }> {
  const decoder = new TextDecoder()
  let text = ''
  try {
    for await (const chunk of stream) {
      const blocks = (text + decoder.decode(chunk, { stream: true })).split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) {
        // With `s`, because JSON may contain U+2028, which a dot does not match otherwise.
        const [, event, data] = /^event: (\w+)\ndata: (.*)$/s.exec(block) ?? []
        if (event && data) yield { event, data }
      }
    }
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error
  }
}
