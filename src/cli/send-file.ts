import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { json } from 'node:stream/consumers'
import { isJob, type Job, JobFailed, type JobInfo, Problem, type Schemas } from '../client/index.ts'
import { UsageFault } from './faults.ts'
import type { FeedFile } from './feed-file.ts'
import { type FeedKind, feeds } from './kinds.ts'
import type { Shared } from './program.ts'
import { openClient } from './session.ts'
import { endingWith, printable } from './terminal.ts'
import { writeTo } from './write-to.ts'

/** A file on its way into the service. */
export interface Load extends Shared {
  kind: FeedKind
  list: string | undefined
  file: FeedFile
  /** Whether a job is to load it. */
  job?: true | undefined
  onBytes: (bytes: number) => void
}

/** What became of the rows; of those added to a list it is not told which are new. */
export type Loaded = Pick<Schemas['FeedResult'], 'rows'> & Partial<Schemas['FeedResult']>

/**
 * Sends a file in one request, which takes all of its rows or none, and follows the job where one does the work. Throws a
 * `Problem` with the bad lines.
 */
export async function sendFile(load: Load): Promise<Loaded> {
  const { data } = await post(load, 'application/vnd.pricewell.feed+json')
  return endOf(load, data)
}

/** What became of the rows, once the job has ended that an answer may be. */
async function endOf(load: Load, answered: object): Promise<Loaded> {
  return isJob(answered) ? followLoad(load, answered) : (answered as Schemas['FeedResult'])
}

/**
 * Sends a refused file again for its rejected rows, each with its `error`, and writes them to `target`. If nothing is
 * wrong with the file any more, it is loaded, and this answers what became of its rows.
 */
export async function writeRejects(load: Load, target: string): Promise<Loaded | undefined> {
  const { mediaType } = load.file
  const { data, response } = await post({ ...load, job: undefined }, mediaType, 'stream')
  const stream = data as unknown as ReadableStream<Uint8Array>
  if (!isOfType(response, mediaType)) return endOf(load, (await json(stream)) as object)
  await writeTo(target, stream)
  return undefined
}

function isOfType({ headers }: Response, mediaType: string): boolean {
  return headers.get('content-type')?.startsWith(mediaType) ?? false
}

/**
 * Sends a file and answers what the service answers. The key is that of this sending and its repetitions: a file that is
 * loaded once more takes another, or what was loaded in between would stand.
 */
function post({ kind, list, file, ...load }: Load, accept: string, parseAs?: 'stream') {
  // Every feed takes the same; the types of one stand for all.
  const path = feeds[kind].path as typeof feeds.prices.path
  return openClient(load, { fetch: withFile(file, load.onBytes) }).POST(path, {
    params: {
      query: list === undefined ? {} : { price_list_name: list },
      header: { 'Idempotency-Key': randomUUID(), ...(load.job && { Prefer: 'respond-async' }) },
    },
    headers: {
      accept: `${accept}, application/problem+json;q=0.5`,
      'content-type': file.mediaType,
      ...(file.isGzip && { 'content-encoding': 'gzip' }),
    },
    body: '',
    bodySerializer: () => '',
    ...(parseAs && { parseAs }),
  })
}

/** Puts the file into the request each time it is sent, so that it is never in memory, nor asked to be read again. */
function withFile(file: FeedFile, onBytes: (bytes: number) => void) {
  return async (request: Request) => {
    if (request.headers.get('content-type') !== file.mediaType) return fetch(request)
    const body = Readable.toWeb(
      Readable.from(counted(file.open(), onBytes)),
    ) as ReadableStream<Uint8Array>
    // With credentials of its own Node 24.14 to 24.15 takes a 401 for a connection that broke; the token is a header.
    const whole = new Request(request, { body, duplex: 'half', credentials: 'omit' })
    // By this the service sees that a file is large, and has a job load it.
    whole.headers.set('content-length', String(file.bytes))
    const response = await fetch(whole).catch((error) => {
      throw error.cause instanceof UsageFault ? error.cause : error
    })
    // Rejected rows are what was asked for: no error, whatever their status.
    const { body: rows, headers } = response
    return isOfType(response, file.mediaType) ? new Response(rows, { headers }) : response
  }
}

async function* counted(
  chunks: AsyncIterable<Buffer>,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const chunk of chunks) {
    yield chunk
    bytes += chunk.length
    onBytes(bytes)
  }
}

/**
 * Follows the job that does what a file asks for. Throws a `Problem` with the bad lines where it refuses the file, and
 * `JobFailed` where it ends otherwise without its work being done. A command that ends before tells where it goes on.
 */
async function followLoad(load: Load, { id }: JobInfo): Promise<Loaded> {
  const onProgress = ({ finished, total }: JobInfo['progress']) =>
    load.onBytes((load.file.bytes * finished) / Math.max(total, 1))
  const forgetEnd = endingWith(() => tellOnGoing(load, id))
  try {
    const { result = [], progress } = await openClient(load).waitForJob(id, { onProgress })
    forgetEnd()
    return 'rows' in result ? result : { rows: progress.total }
  } catch (error) {
    if (error instanceof JobFailed) forgetEnd()
    throw (error instanceof JobFailed && refusal(error.job)) || error
  }
}

function tellOnGoing({ file, json }: Load, id: number): void {
  const message = `Job ${id} goes on with ${file.name}: \`pricewell wait ${id}\` follows it.`
  console.error(json ? JSON.stringify({ message, job_id: id }) : printable(message))
}

/** What the file would have been answered at once; undefined: the job did not fail by the file. */
function refusal({ errors, progress: { error: count } }: Job): Problem | undefined {
  const rows = errors.flatMap(({ pointer, ...error }) =>
    pointer === undefined ? [] : { ...error, pointer },
  )
  const [tooLarge] = errors.filter(({ code }) => code === 'payload-too-large')
  if (rows.length === 0 && !tooLarge) return undefined
  return new Problem({
    type: tooLarge ? 'payload-too-large' : 'invalid-request',
    title: 'The file was refused',
    status: tooLarge ? 413 : 400,
    instance: '',
    error_count: count,
    detail:
      tooLarge?.message ?? `${count} ${count === 1 ? 'error' : 'errors'}. Nothing was written.`,
    errors: rows as Problem['errors'],
  })
}
