import { setTimeout as sleep } from 'node:timers/promises'
import {
  Answer,
  type Context,
  type Handler,
  type InAccount,
  type Schemas,
  Stream,
} from '../contract/operation.ts'
import { isRefusedForNow, tooManyRequests } from '../contract/problem.ts'
import { AccountBudget } from '../lib/account-budget.ts'
import { findJob, jobInfo, jobNotFound, listJobsById } from './job-info.ts'

const paces = { pollMs: 250, heartbeatMs: 15_000 }
/** An account's streams share one query, sent at most four times a second. */
const gatherMs = 250

/** Proxies must not buffer or compress the response, so that each event arrives immediately. */
const followedLive = { 'x-accel-buffering': 'no', 'cache-control': 'no-store, no-transform' }

/** The most streams per account and process: each holds a client connection. */
const streamsMax = 100
const retrySeconds = 5

/** Shared by the streams of a service; tests run several services in one process. */
interface Watching {
  reads: CoalescedReads
  streams: AccountBudget
}
const watching = new WeakMap<Context, Watching>()

/**
 * Streams the progress of a job as server-sent events until it ends. No database connection is held between reads.
 * Throws `not-found`, and `too-many-requests` if the account has 100 streams.
 */
export const readJobEvents: Handler<'readJobEvents'> = async (
  { account, params, inAccount },
  context,
) => {
  const { reads, streams } = watchingOf(context)
  // Before the response begins, so that a missing job is an ordinary 404.
  const job = await inAccount((trx) => findJob(trx, account, params.id))
  rejectMany(streams.of(account))
  const read = () => reads.read(account, params.id, inAccount)
  const open = (gone: AbortSignal) => {
    gone.addEventListener('abort', streams.take(account, 1), { once: true })
    return jobEvents(job, read, AbortSignal.any([gone, context.stopping]), paces)
  }
  return new Answer(new Stream('text/event-stream', open), followedLive)
}

function watchingOf(context: Context): Watching {
  const found = watching.get(context) ?? {
    reads: new CoalescedReads(),
    streams: new AccountBudget(Number.POSITIVE_INFINITY),
  }
  watching.set(context, found)
  return found
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
  yield endOf(current)
}

/** All streams of a job share this text: for 100,000 rows it is 0.9 MB and takes milliseconds to write. */
const ends = new WeakMap<Schemas['Job'], string>()

function endOf(job: Schemas['Job']): string {
  const text = ends.get(job) ?? event('end', job)
  ends.set(job, text)
  return text
}

function event(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
}

/** A query that has not begun: more streams may join it. */
interface PendingRead {
  ids: Set<number>
  jobs: Promise<Map<number, Schemas['Job']>>
}

/**
 * Request coalescing: streams of an account that need a job within `gatherMs` share one query. With a query each, 2,000
 * streams would use up the capacity of the database.
 */
class CoalescedReads {
  readonly #pending = new Map<number, PendingRead>()

  /** Returns the job, read after at most `gatherMs`. Throws `not-found`. */
  async read(account: number, id: number, inAccount: InAccount): Promise<Schemas['Job']> {
    const pending = this.#pending.get(account) ?? this.#begin(account, inAccount)
    pending.ids.add(id)
    return (await pending.jobs).get(id) ?? jobNotFound()
  }

  #begin(account: number, inAccount: InAccount): PendingRead {
    const ids = new Set<number>()
    const pending = { ids, jobs: this.#run(account, ids, inAccount) }
    this.#pending.set(account, pending)
    return pending
  }

  async #run(account: number, ids: Set<number>, inAccount: InAccount) {
    await sleep(gatherMs)
    this.#pending.delete(account)
    const jobs = await inAccount((trx) => listJobsById(trx, account, [...ids]))
    return new Map(jobs.map((job) => [job.id, job]))
  }
}
