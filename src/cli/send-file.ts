import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { json } from 'node:stream/consumers'
import {
  isJob,
  JobFailed,
  type JobInfo,
  Problem,
  type Schemas,
  Unreachable,
} from '../client/index.ts'
import { isOutcomeUnknown, isUnconnected } from '../client/retry.ts'
import { problemOf, UsageFault, withoutKey } from './faults.ts'
import type { FeedFile } from './feed-file.ts'
import { readPlan, waitOrTell } from './follow-job.ts'
import { type feeds, removalPath } from './kinds.ts'
import { tell } from './program.ts'
import { openClient } from './session.ts'
import { endingWith } from './terminal.ts'
import { writeTo } from './write-to.ts'

/** A file to send, and how. */
export interface Load {
  /** The path of the operation. */
  path: string
  list: string | undefined
  file: FeedFile
  /** Whether a job loads it. */
  job?: true | undefined
  /** Whether to make a plan instead of loading it. */
  plan?: true | undefined
  /** Whether to leave out stale rows. */
  skipStale?: true | undefined
  headers?: Record<string, string>
  onBytes: (bytes: number) => void
}

/** The result; without the number of new rows if rows were added to a list. */
export type Loaded = Pick<Schemas['FeedResult'], 'rows'> & Partial<Schemas['FeedResult']>

type Plan = Schemas['Plan']

/** Sends a file in one request and follows the job, if any. Throws a `Problem` with the bad lines. */
export async function sendFile(load: Load): Promise<Loaded | Plan> {
  const type = load.plan ? 'application/json' : 'application/vnd.pricewell.feed+json'
  const { data } = await post(load, type)
  return endOf(load, data)
}

/** The result in the response, or that of its job. */
async function endOf(load: Load, answered: object): Promise<Loaded | Plan> {
  return isJob(answered) ? followLoad(load, answered) : (answered as Loaded | Plan)
}

/**
 * Sends a refused file again to get its rejected rows, each with its `error`, and writes them to `target` (- is
 * standard output). If the file has no errors by now, it is loaded and its result is returned.
 */
export async function writeRejects(load: Load, target: string): Promise<Loaded | Plan | undefined> {
  const { mediaType } = load.file
  const { data, response } = await post({ ...load, job: undefined }, mediaType, 'stream')
  const stream = data as unknown as ReadableStream<Uint8Array>
  if (!isOfType(response, mediaType)) return endOf(load, (await json(stream)) as object)
  await writeTo(target === '-' ? undefined : target, stream)
  return undefined
}

function isOfType({ headers }: Response, mediaType: string): boolean {
  return headers.get('content-type')?.startsWith(mediaType) ?? false
}

/**
 * Sends a file. Retries share an Idempotency-Key. Loading the file again takes a new key; otherwise rows loaded in
 * between would stay.
 */
async function post({ path, list, file, ...load }: Load, accept: string, parseAs?: 'stream') {
  // All feeds have the same types.
  const feed = path as typeof feeds.prices.path
  const delivery = { isSent: false, isInDoubt: false }
  // Standard input cannot be sent again.
  const retries = file.original ? {} : { retries: 0 }
  const client = openClient({ fetch: withFile(file, load.onBytes, delivery), ...retries })
  const answered = client.POST(feed, {
    params: {
      query: {
        ...(list !== undefined && { price_list_name: list }),
        ...(load.plan && { plan: 'true' }),
        ...(load.skipStale && { on_stale: 'skip' }),
      },
      header: {
        ...load.headers,
        'Idempotency-Key': randomUUID(),
        ...(load.job && { Prefer: 'respond-async' }),
      },
    },
    headers: {
      accept: `${accept}, application/problem+json;q=0.5`,
      'content-type': file.mediaType,
      ...(file.isGzip && { 'content-encoding': 'gzip' }),
    },
    body: '',
    ...(parseAs && { parseAs }),
  })
  const said = { path, plan: load.plan, file }
  const onEnd = () => tell(`Interrupted. ${outcomeOf(said, delivery.isSent || delivery.isInDoubt)}`)
  // A plan changes nothing.
  const forgetEnd = load.plan ? undefined : endingWith(onEnd)
  return answered
    .catch((error) => {
      throw unanswered(said, delivery.isInDoubt, error)
    })
    .finally(() => forgetEnd?.())
}

/** What is known of a file that was sent, so far. */
interface Delivery {
  /** Whether the whole file was sent, and there is no response yet. */
  isSent: boolean
  /** Whether an attempt sent the whole file, but no response told what became of it. */
  isInDoubt: boolean
}

/** Tells what became of a file when no response told it. Returns other errors unchanged. */
function unanswered(sent: Sent, isInDoubt: boolean, cause: unknown): unknown {
  const isUntold = cause instanceof Problem && cause.mayHaveActed && isInDoubt
  if (!isUntold && !(cause instanceof Unreachable)) return cause
  const message = isUntold ? withoutKey(cause) : cause.message
  return new Unreachable(`${message} ${outcomeOf(sent, isInDoubt)}`, { cause })
}

type Sent = Pick<Load, 'path' | 'plan' | 'file'>

function outcomeOf({ path, plan, file: { name } }: Sent, isInDoubt: boolean): string {
  const isRemoval = path === removalPath
  if (!isInDoubt) {
    const none = plan
      ? 'No plan was made'
      : `None of ${name} was ${isRemoval ? 'removed' : 'loaded'}`
    return `${none}: ${plan ? name : 'it'} was not sent completely. Run the command again.`
  }
  if (plan) return 'The plan may have been made: `pricewell plans` shows it.'
  return isRemoval
    ? `The products in ${name} may have been removed: \`pricewell log\` shows it.`
    : `${name} may have been loaded. Run the command again: existing rows are set to what the file says, never duplicated.`
}

/**
 * A `fetch` that streams the file anew for each attempt, so that it is never in memory, and notes its `delivery`.
 */
function withFile(file: FeedFile, onBytes: (bytes: number) => void, delivery: Delivery) {
  return async (request: Request) => {
    if (request.headers.get('content-type') !== file.mediaType) return fetch(request)
    delivery.isSent = false
    const onSent = () => {
      delivery.isSent = true
    }
    const body = Readable.toWeb(
      Readable.from(counted(file, onBytes, onSent)),
    ) as ReadableStream<Uint8Array>
    // Without `omit` Node 24.14 to 24.15 reports a 401 as a broken connection.
    const whole = new Request(request, { body, duplex: 'half', credentials: 'omit' })
    // The service has a job load a file with a large Content-Length.
    if (file.length !== undefined) whole.headers.set('content-length', String(file.length))
    const response = await fetch(whole).catch((error) => {
      if (delivery.isSent && !isUnconnected(error)) delivery.isInDoubt = true
      throw isFileFault(error.cause) ? error.cause : error
    })
    delivery.isSent = false
    // A successful response may still break off.
    if (response.ok || (await isOutcomeUnknown(response))) delivery.isInDoubt = true
    // Rejected rows are not an error here, whatever their status.
    const { body: rows, headers } = response
    return isOfType(response, file.mediaType) ? new Response(rows, { headers }) : response
  }
}

/** Whether reading the file failed, rather than the network. */
function isFileFault(cause: unknown): boolean {
  return cause instanceof UsageFault || cause instanceof Problem
}

/** The content to send. Calls `onSent` before the service can have all of it. */
async function* counted(
  { open, length }: FeedFile,
  onBytes: (bytes: number) => void,
  onSent: () => void,
): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const chunk of open()) {
    bytes += chunk.length
    if (bytes === length) onSent()
    yield chunk
    onBytes(bytes)
  }
  onSent()
}

/**
 * Follows the job that loads a file. Throws a `Problem` with the bad lines if the file is refused, `JobFailed` if the
 * job fails otherwise. If the command ends before the job, tells how to follow it.
 */
async function followLoad(load: Load, { id }: JobInfo): Promise<Loaded | Plan> {
  const onProgress = ({ finished, total }: JobInfo['progress']) =>
    load.onBytes((load.file.bytes * finished) / Math.max(total, 1))
  const client = openClient()
  const job = { id, of: ` with ${load.file.name}` }
  const { result = [], progress } = await waitOrTell(job, () =>
    client.waitForJob(id, { onProgress }),
  ).catch((error) => {
    throw (error instanceof JobFailed && problemOf(error.job)) || error
  })
  if ('plan_id' in result) return readPlan(client, result.plan_id)
  return 'rows' in result ? result : { rows: progress.total }
}
