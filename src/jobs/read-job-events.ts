import { setTimeout as sleep } from 'node:timers/promises'
import {
  Answer,
  type Context,
  type Handler,
  type InAccount,
  type Schemas,
  Stream,
} from '../contract/operation.ts'
import { Problem, problemTypes } from '../contract/problem.ts'
import { isUnavailable } from '../database/errors.ts'
import { AccountBudget } from '../lib/account-budget.ts'
import { findJob, jobInfo, jobNotFound, listJobsById } from './job-info.ts'

const paces = { pollMs: 250, heartbeatMs: 15_000 }
/** The streams of an account share a query, twice a second. */
const gatherMs = 250

/** Proxies must not buffer or compress the response, so that each event arrives at once. */
const followedLive = { 'x-accel-buffering': 'no', 'cache-control': 'no-store, no-transform' }

/** Streams of an account, in a process: each holds a connection. */
const streamsMax = 100
const retrySeconds = 5

/** What the streams of a process share; tests have several services in one process. */
interface Watching {
  looks: SharedLooks
  streams: AccountBudget
}
const watching = new WeakMap<Context, Watching>()

/**
 * Streams the progress of a job as server-sent events until it has ended. No database connection is held between two
 * looks. Throws `too-many-requests` if the account has 100 streams.
 */
export const readJobEvents: Handler<'readJobEvents'> = async (
  { account, params, inAccount },
  context,
) => {
  const { looks, streams } = watchingOf(context)
  // The first look comes before the response begins: an absent job is an ordinary 404.
  const job = await inAccount((trx) => findJob(trx, account, params.id))
  rejectMany(streams.of(account))
  const look = () => looks.at(account, params.id, inAccount)
  const open = (gone: AbortSignal) => {
    gone.addEventListener('abort', streams.take(account, 1), { once: true })
    return jobEvents(job, look, AbortSignal.any([gone, context.stopping]), paces)
  }
  return new Answer(new Stream('text/event-stream', open), followedLive)
}

function watchingOf(context: Context): Watching {
  const found = watching.get(context) ?? {
    looks: new SharedLooks(gatherMs),
    streams: new AccountBudget(Number.POSITIVE_INFINITY),
  }
  watching.set(context, found)
  return found
}

function rejectMany(streams: number): void {
  if (streams < streamsMax) return
  const detail = `This account watches jobs by ${streamsMax} streams already.`
  throw new Problem('too-many-requests', detail, {
    headers: { 'retry-after': String(retrySeconds) },
  })
}

/**
 * One `progress` event now and at each change, a comment when there was none for a while, one `end` event with the
 * whole job; ends without it at `signal`.
 */
export async function* jobEvents(
  job: Schemas['Job'],
  look: () => Promise<Schemas['Job']>,
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
    current = await look().catch((error: unknown) => {
      if (isForNow(error)) return current
      throw error
    })
  }
  yield endOf(current)
}

/** All streams of a job send one text: for 100,000 rows it takes milliseconds to make, and 0.9 MB. */
const ends = new WeakMap<Schemas['Job'], string>()

function endOf(job: Schemas['Job']): string {
  const text = ends.get(job) ?? event('end', job)
  ends.set(job, text)
  return text
}

/** Whether a look failed under overload or while the database is away; the next one may succeed. */
function isForNow(error: unknown): boolean {
  return error instanceof Problem
    ? [429, 503].includes(problemTypes[error.type].status)
    : isUnavailable(error)
}

function event(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
}

/** A query that has not begun, so that more streams can join it. */
interface Look {
  ids: Set<number>
  jobs: Promise<Map<number, Schemas['Job']>>
}

/**
 * Request coalescing: all looks of an account within `gatherMs` share one statement. With one each, two thousand streams
 * would take all that the database can do.
 */
class SharedLooks {
  readonly #gatherMs: number
  readonly #next = new Map<number, Look>()

  constructor(gatherMs: number) {
    this.#gatherMs = gatherMs
  }

  /** The job as it is after `gatherMs` at most; throws `not-found`. */
  async at(account: number, id: number, inAccount: InAccount): Promise<Schemas['Job']> {
    const look = this.#next.get(account) ?? this.#begin(account, inAccount)
    look.ids.add(id)
    return (await look.jobs).get(id) ?? jobNotFound()
  }

  #begin(account: number, inAccount: InAccount): Look {
    const ids = new Set<number>()
    const look = { ids, jobs: this.#run(account, ids, inAccount) }
    this.#next.set(account, look)
    return look
  }

  async #run(account: number, ids: Set<number>, inAccount: InAccount) {
    await sleep(this.#gatherMs)
    this.#next.delete(account)
    const jobs = await inAccount((trx) => listJobsById(trx, account, [...ids]))
    return new Map(jobs.map((job) => [job.id, job]))
  }
}
