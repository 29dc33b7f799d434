import { Answer, type Schemas } from '../contract/operation.ts'
import type { Trx } from '../database/pool.ts'
import { feedsOfLists } from '../feeds/feeds.ts'
import { enqueueJob } from '../jobs/enqueue.ts'
import { storeFile } from '../jobs/file-pieces.ts'
import { rejectManyFiles } from '../jobs/many-jobs.ts'
import { keepPriceList } from '../price-lists/queries.ts'
import { findFeedList } from '../prices/staged-rows.ts'
import { asText, type FeedCall, wantsFile } from './answer-feed.ts'

/** Whether a job is to load a file: the client would rather not wait, or it is so large that nobody should. */
export function isForJob(call: FeedCall): boolean {
  const { bytes, context } = call
  const isLarge = bytes.announced > context.limits.feedAtOnceBytesMax
  return prefersJob(call) || (isLarge && !wantsFile(call))
}

/** RFC 7240. */
function prefersJob({ prefer = '' }: FeedCall): boolean {
  return prefer.split(',').some((one) => /^\s*respond-async\s*(;|$)/i.test(one))
}

/** Whether an answer, as text, is a job that loads a file. */
export function isFileJob({ body, headers }: Answer<string>): boolean {
  return headers.location !== undefined && JSON.parse(body).resource_type === 'file'
}

/** Stores a file for a job that will load it. Answers the job: it and the whole file are there then. */
export async function acceptFile(call: FeedCall): Promise<Answer<string>> {
  return asText(await call.inAccount((trx) => storeForJob(trx, call)))
}

async function storeForJob(trx: Trx, call: FeedCall): Promise<Answer<Schemas['JobInfo']>> {
  const { operation, bytes, account, query, context } = call
  const isOfList = feedsOfLists.includes(operation.id)
  const list = isOfList ? await findFeedList(trx, account, query) : undefined
  await rejectManyFiles(trx, account, context.limits.filesWaitingMax)
  const { id, lines } = await storeFile(trx, account, bytes)
  // Not locked: another file of the list may be written for minutes, and this one was sent already.
  if (list) await keepPriceList(trx, account, list)
  const { body, headers } = await enqueueJob(trx, context.boss, {
    ...{ account, priceListId: list?.id ?? null, kind: 'load-file', total: lines },
    file: { id, operation: operation.id, mediaType: bytes.mediaType, query },
  })
  const applied = prefersJob(call) && { 'preference-applied': 'respond-async' }
  return new Answer(body, { ...headers, ...applied })
}
