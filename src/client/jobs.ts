import type { components } from '../../generated/openapi-client.d.ts'
import { sentence, Unreachable } from './problem.ts'
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

/** Follows a job to its end, reconnecting if necessary. Throws `JobFailed` unless the job ends as `done`. */
export async function waitForJob(
  open: OpenEvents,
  id: number,
  { onProgress, signal }: WaitOptions,
): Promise<Job> {
  for (;;) {
    for await (const { event, data } of readEvents(await open(id, signal))) {
      const job = JSON.parse(data)
      onProgress?.(job.progress)
      if (event === 'end') return done(job)
    }
    await pause(1, signal)
  }
}

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
