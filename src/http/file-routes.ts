import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { hasPayload, type Operation } from '../contract/document.ts'
import type { FeedDone } from '../contract/feed.ts'
import { Answer, type InAccount, JsonText, type Schemas } from '../contract/operation.ts'
import { clientGone, type Problem, problemTypes } from '../contract/problem.ts'
import type { Trx } from '../database/pool.ts'
import { onceInAccount } from '../database/tenant-transaction.ts'
import type { FeedBytes } from '../feeds/feed-bytes.ts'
import { isOfRows, RejectedRows } from '../feeds/rejected-rows.ts'
import { type FeedRun, runFeed } from '../feeds/run-feed.ts'
import { enqueueJob, rejectManyFiles } from '../jobs/enqueue.ts'
import { storeFile } from '../jobs/file-pieces.ts'
import { revisionHeader } from '../price-lists/history/record-revision.ts'
import { keepPriceList } from '../price-lists/queries.ts'
import { findFeedList } from '../prices/feeds/staged-rows.ts'
import { statusOf } from './execute.ts'
import type { OperationCall } from './handlers.ts'
import { helpLink, pathPrefixOf, prefersJob } from './headers.ts'
import { storing } from './idempotency.ts'
import { originOf } from './origin.ts'
import type { UnreadResponses } from './overload/memory-budget.ts'
import { chooseMediaType } from './preconditions.ts'

/**
 * Loads a file, or has a job load it. If rows are rejected and the client accepts a file, the response is those rows.
 */
export async function takeFile(
  bytes: FeedBytes,
  operationCall: OperationCall,
): Promise<FastifyReply> {
  const { operation, services, request, reply } = operationCall
  excuseOwnDelay(request, reply)
  const call = feedCall(bytes, operationCall)
  const isStored = isForJob(call)
  if (!isStored) request.file = call.progress
  const rejected = wantsFile(call) ? new RejectedRows(bytes.mediaType) : undefined
  const result = await (isStored ? acceptFile(call) : load(call, rejected)).catch(
    async (refusal) => {
      // If the file's header is faulty, no rows are rejected.
      if (rejected && !rejected.isEmpty && isOfRows(refusal))
        return rejectedFile(rejected, refusal, services.unread, call.account, reply)
      if (!(await bytes.discard())) reply.header('connection', 'close')
      throw refusal
    },
  )
  return result instanceof Answer ? sendAnswer(result, operation, reply) : result
}

/** Does not time out a connection that is idle only because the service is still writing rows that have arrived. */
function excuseOwnDelay({ raw: file }: FastifyRequest, { raw: answer }: FastifyReply): void {
  file.once('end', () => file.setTimeout?.(0))
  answer.on('timeout', (socket: Socket) => {
    if (file.complete || file.readableLength > 0) socket.setTimeout(socket.timeout ?? 0)
    else socket.destroy()
  })
}

function feedCall(
  bytes: FeedBytes,
  { operation, services: { pools, context, bulkheads }, request, reply }: OperationCall,
): FeedCall {
  const account = request.caller?.account ?? 0
  const bound: InAccount = (work) =>
    bulkheads.streams.run(account, reply.raw, () => onceInAccount(pools.streams, account, work))
  return {
    operation,
    mediaType: bytes.mediaType,
    bytes,
    account,
    context,
    query: request.query as object,
    origin: originOf(request),
    choose: (types) => chooseMediaType(request, types),
    prefersJob: prefersJob(request),
    inAccount: storing(bound, operation, request, {
      secret: context.jwtSecret,
      hash: () => bytes.digest(),
    }),
    progress: { rows: 0 },
    rejectGone: () => {
      if (reply.raw.destroyed) throw clientGone()
    },
  }
}

function sendAnswer(
  result: Answer<string>,
  operation: Operation,
  reply: FastifyReply,
): FastifyReply {
  const { body, headers } = result
  // A job's response is the same as for a JSON body.
  const type = headers.location ? 'application/json; charset=utf-8' : feedResultType
  const status = isFileJob(result) ? 202 : statusOf(operation, reply.request, headers.location)
  return reply.code(status).headers(headers).type(type).send(body)
}

const feedResultType = 'application/vnd.pricewell.feed+json'

/** A file from a request. */
interface FeedCall extends Omit<FeedRun, 'rejected'> {
  bytes: FeedBytes
  /** Picks the media type that the client prefers. */
  choose: (types: string[]) => string | undefined
  prefersJob: boolean
  inAccount: InAccount
}

/** Sends the rejected rows. Throws `too-many-requests` or `overloaded` if too many responses are unread. */
function rejectedFile(
  { mediaType, file }: RejectedRows,
  { type, options }: Problem,
  unread: UnreadResponses,
  account: number,
  reply: FastifyReply,
): FastifyReply {
  unread.hold(account, Buffer.byteLength(file), reply.raw)
  reply.code(problemTypes[type].status).type(`${mediaType}; charset=utf-8`)
  reply.header('link', helpLink(pathPrefixOf(reply.request), type))
  return reply.header('rejected-rows', options.errorCount).send(file)
}

async function load(call: FeedCall, rejected: RejectedRows | undefined): Promise<Answer<string>> {
  const result = await call.inAccount(async (trx) => {
    const loaded = await runFeed(trx, { ...call, rejected })
    return loaded instanceof Answer ? loaded : answerOf(loaded)
  })
  return asText(result)
}

function answerOf({ result, revision }: FeedDone): Answer<Schemas['FeedResult']> {
  const { skipped } = result
  return new Answer(result, {
    ...(skipped !== undefined && { 'skipped-rows': String(skipped) }),
    ...(revision !== undefined && revisionHeader(revision)),
  })
}

/** A result as text, with its headers; a stored result is text already. */
function asText(result: unknown): Answer<string> {
  const { body, headers } = result instanceof Answer ? result : new Answer<unknown>(result, {})
  return new Answer(body instanceof JsonText ? body.text : JSON.stringify(body), headers)
}

/** Whether the client prefers the rejected rows as a file to the list of errors. */
function wantsFile({ choose, bytes }: FeedCall): boolean {
  const types = ['application/problem+json', 'application/json', bytes.mediaType]
  return choose(types) === bytes.mediaType
}

/** Whether a job loads the file: the client requests it, or the file is large and its rejected rows are not wanted. */
function isForJob(call: FeedCall): boolean {
  const { bytes, context } = call
  const isLarge = bytes.announced > context.limits.feedAtOnceBytesMax
  return call.prefersJob || (isLarge && !wantsFile(call))
}

/** Whether the response is a job that loads a file. */
function isFileJob({ body, headers }: Answer<string>): boolean {
  return headers.location !== undefined && JSON.parse(body).resource_type === 'file'
}

/** Stores a file and creates the job that loads it, both in one transaction. Returns the job. */
async function acceptFile(call: FeedCall): Promise<Answer<string>> {
  return asText(await call.inAccount((trx) => storeForJob(trx, call)))
}

async function storeForJob(trx: Trx, call: FeedCall): Promise<Answer<Schemas['JobInfo']>> {
  const { operation, bytes, account, query, context } = call
  const list = hasPayload(operation) ? await findFeedList(trx, account, query) : undefined
  await rejectManyFiles(trx, account, context.limits.filesWaitingMax)
  const { id, lines } = await storeFile(trx, account, bytes)
  // Without a lock: another file may hold the list for minutes, and this one has been sent already.
  if (list) await keepPriceList(trx, account, list)
  const { body, headers } = await enqueueJob(trx, context.boss, {
    account,
    priceListId: list?.id ?? null,
    kind: 'load-file',
    origin: call.origin,
    total: lines,
    file: { id, operation: operation.id, mediaType: bytes.mediaType, query },
  })
  const applied = call.prefersJob && { 'preference-applied': 'respond-async' }
  return new Answer(body, { ...headers, ...applied })
}
