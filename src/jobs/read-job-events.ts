import { setTimeout as sleep } from 'node:timers/promises'
import { Answer, type Handler, type Schemas, Stream } from '../contract/operation.ts'
import { isRefusedForNow, tooManyRequests } from '../contract/problem.ts'
import { AccountBudget } from '../lib/account-budget.ts'
import { findJob, jobInfo } from './job-info.ts'

const paces = { pollMs: 1000, heartbeatMs: 15_000 }

/** Proxies must not buffer or compress the response, so that each event arrives immediately. */
const followedLive = { 'x-accel-buffering': 'no', 'cache-control': 'no-store, no-transform' }

/** The most streams per account and process: each holds a client connection. */
const streamsMax = 100
const retrySeconds = 5

const streams = new AccountBudget(Number.POSITIVE_INFINITY)

/**
 * Streams the progress of a job as server-sent events until it ends. No database connection is held between reads.
 * Throws `not-found`, and `too-many-requests` if the account has 100 streams.
 */
export const readJobEvents: Handler<'readJobEvents'> = async (
  { account, params, inAccount },
  { stopping },
) => {
  const read = () => inAccount((trx) => findJob(trx, account, params.id))
  // Before the response begins, so that a missing job is an ordinary 404.
  const job = await read()
  rejectMany(streams.of(account))
  const open = (gone: AbortSignal) => {
    gone.addEventListener('abort', streams.take(account, 1), { once: true })
    return jobEvents(job, read, AbortSignal.any([gone, stopping]), paces)
  }
  return new Answer(new Stream('text/event-stream', open), followedLive)
}

function rejectMany(streams: number): void {
  if (streams < streamsMax) return
  const detail = `This account watches jobs by ${streamsMax} streams already.`
  throw tooManyRequests(detail, retrySeconds)
}

/**
 * Yields a `progress` event now and at each change, a comment after `heartbeatMs` without events, and finally an `end`
 * event with the whole job. Aborting `signal` ends the stream without the `end` event.
 */
export async function* jobEvents(
  job: Schemas['Job'],
  read: () => Promise<Schemas['Job']>,
  signal: AbortSignal,
  { pollMs, heartbeatMs }: typeof paces,
): AsyncGenerator<string> {
  let current = job
  let sent = ''
  let sentAt = 0
  while (current.status === 'progress') {
    const progress = event('progress', jobInfo({ ...current, ...current.progress }))
    if (progress !== sent || performance.now() - sentAt >= heartbeatMs) {
      yield progress === sent ? ': the job goes on\n\n' : progress
      sent = progress
      sentAt = performance.now()
    }
    await sleep(pollMs, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
    current = await read().catch((error: unknown) => {
      if (isRefusedForNow(error)) return current
      throw error
    })
  }
  yield event('end', current)
}

function event(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
}
