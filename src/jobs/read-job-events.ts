import { setTimeout as sleep } from 'node:timers/promises'
import { Answer, type Context, type Handler, type Schemas, Stream } from '../contract/operation.ts'
import { Problem, problemTypes } from '../contract/problem.ts'
import { isPassing } from '../database/transient-errors.ts'
import { findJob, jobInfo } from './job-info.ts'
import { SharedLooks } from './shared-looks.ts'
import { Watchers } from './watchers.ts'

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
    : isPassing(error)
}

function event(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
}
