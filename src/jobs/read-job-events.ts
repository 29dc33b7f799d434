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
import { findJob, jobInfo, jobNotFound, listJobsById } from './job-info.ts'

const paces = { pollMs: 250, heartbeatMs: 15_000 }
/** Those who watch jobs of an account look at them together, twice a second. */
const gatherMs = 250

/** Proxies neither buffer nor compress the answer, so each event arrives at once. */
const followedLive = { 'x-accel-buffering': 'no', 'cache-control': 'no-store, no-transform' }

/** Of each process; tests have several in one. */
interface Watching {
  looks: SharedLooks
  watchers: Watchers
}
const watching = new WeakMap<Context, Watching>()

/** Streams the progress of a job as server-sent events until it has ended. No connection is held between two looks. */
export const readJobEvents: Handler<'readJobEvents'> = async (
  { account, params, inAccount },
  context,
) => {
  const { looks, watchers } = watchingOf(context)
  // The first look comes before the answer begins: an absent job is an ordinary 404.
  const job = await inAccount((trx) => findJob(trx, account, params.id))
  watchers.rejectMany(account)
  const look = () => looks.at(account, params.id, inAccount)
  const open = (gone: AbortSignal) => {
    watchers.add(account, gone)
    return jobEvents(job, look, AbortSignal.any([gone, context.stopping]), paces)
  }
  return new Answer(new Stream('text/event-stream', open), followedLive)
}

function watchingOf(context: Context): Watching {
  const found = watching.get(context) ?? {
    looks: new SharedLooks(gatherMs),
    watchers: new Watchers(),
  }
  watching.set(context, found)
  return found
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

/** Those who watch a job together are sent one text: of 100,000 rows it takes milliseconds to write, and 0.9 MB. */
const ends = new WeakMap<Schemas['Job'], string>()

function endOf(job: Schemas['Job']): string {
  const text = ends.get(job) ?? event('end', job)
  ends.set(job, text)
  return text
}

/** A look that is refused because there is much to do, or fails while the database is away, is made again like any other. */
function isForNow(error: unknown): boolean {
  return error instanceof Problem
    ? [429, 503].includes(problemTypes[error.type].status)
    : isUnavailable(error)
}

function event(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
}

/** Of an account, in a process: each holds a connection, and is sent all that its job has done. */
const watchersMax = 100
const retrySeconds = 5

/** Counts the streams of each account that are open. */
class Watchers {
  readonly #open = new Map<number, number>()

  /** Throws `too-many-requests` when the account has as many as it may have. */
  rejectMany(account: number): void {
    if (this.#countOf(account) < watchersMax) return
    const detail = `This account watches jobs by ${watchersMax} streams already.`
    throw new Problem('too-many-requests', detail, {
      headers: { 'retry-after': String(retrySeconds) },
    })
  }

  /** Counts one until it is `gone`. */
  add(account: number, gone: AbortSignal): void {
    this.#open.set(account, this.#countOf(account) + 1)
    gone.addEventListener('abort', () => this.#remove(account), { once: true })
  }

  #countOf(account: number): number {
    return this.#open.get(account) ?? 0
  }

  #remove(account: number): void {
    const left = this.#countOf(account) - 1
    if (left > 0) this.#open.set(account, left)
    else this.#open.delete(account)
  }
}

/** A look that has not begun: others may still join it. */
interface Look {
  ids: Set<number>
  jobs: Promise<Map<number, Schemas['Job']>>
}

/**
 * Looks at jobs that many watch: whoever of an account wants to see one within `gatherMs` sees them by the same
 * statement. By one each, two thousand streams would ask for all that the database can do.
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
