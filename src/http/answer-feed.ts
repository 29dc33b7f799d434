import type { Operation } from '../contract/document.ts'
import type { FindFaults } from '../contract/incremental-validation.ts'
import {
  Answer,
  type Context,
  type InAccount,
  JsonText,
  type Schemas,
  type Stream,
} from '../contract/operation.ts'
import { Problem } from '../contract/problem.ts'
import type { FeedBytes } from '../feeds/feed-bytes.ts'
import { operationFeed } from '../feeds/operation-feed.ts'
import { RejectedRows } from '../feeds/rejected-rows.ts'
import { runFeed } from '../feeds/run-feed.ts'
import { chooseMediaType } from './accept.ts'

/** The media type of what is answered to a file that was loaded. */
export const feedResultType = 'application/vnd.pricewell.feed+json'

/** A file for an operation, and where its transaction comes from. */
export interface FeedCall {
  operation: Operation
  findFaults: FindFaults
  bytes: FeedBytes
  account: number
  query: object
  accept: string | undefined
  prefer: string | undefined
  context: Context
  inAccount: InAccount
  /** Throws when the client has gone. */
  rejectGone: () => void
  /** Told how many rows are read and checked so far. */
  progress: { rows: number }
  /** Told why a refused file cannot come back with its errors: then their list is answered. */
  onDiskFault: (cause: unknown) => void
}

/** Loads a file and answers what happened to its rows, as text; or the refused file, if that is what is accepted. */
export async function answerFeed(call: FeedCall): Promise<Answer<string> | Stream> {
  const rejected = wantsFile(call) ? rejectedRows(call) : undefined
  try {
    const result = await load(call, rejected)
    await rejected?.delete()
    return result
  } catch (error) {
    if (rejected?.isWhole && error instanceof Problem && error.type === 'invalid-request')
      return rejected.answer()
    await rejected?.delete()
    throw error
  }
}

function rejectedRows({ bytes: { mediaType }, account, onDiskFault }: FeedCall): RejectedRows {
  return new RejectedRows({ mediaType, account, onFault: onDiskFault })
}

async function load(
  { operation, bytes, inAccount, query, ...call }: FeedCall,
  rejected: RejectedRows | undefined,
): Promise<Answer<string>> {
  const { mediaType } = bytes
  const result = await inAccount(async (trx) => {
    const loaded = await runFeed(trx, {
      ...{ ...call, ...operationFeed(operation), query, rejected, mediaType, bytes },
    })
    return loaded instanceof Answer ? loaded : withSkipped(loaded)
  })
  return asText(result)
}

function withSkipped(result: Schemas['FeedResult']): Answer<Schemas['FeedResult']> {
  const { skipped } = result
  return new Answer(result, skipped === undefined ? {} : { 'skipped-rows': String(skipped) })
}

/** A result, also one that was stored as text, with its headers. */
export function asText(result: unknown): Answer<string> {
  const { body, headers } = result instanceof Answer ? result : new Answer<unknown>(result, {})
  return new Answer(body instanceof JsonText ? body.text : JSON.stringify(body), headers)
}

/** Whether the client would rather have its file back than the list of errors. */
export function wantsFile({ accept, bytes }: FeedCall): boolean {
  const types = ['application/problem+json', 'application/json', bytes.mediaType]
  return chooseMediaType(accept, types) === bytes.mediaType
}
