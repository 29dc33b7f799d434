import { hasPayload, type Operation, readRowSchema } from '../contract/document.ts'
import type { Feed } from '../contract/feed.ts'
import type { OperationId } from '../contract/operation.ts'
import { feeds } from './feeds.ts'
import type { FeedRun } from './run-feed.ts'

/** How an operation takes rows from a file. */
export function operationFeed(operation: Operation): Pick<FeedRun, 'feed' | 'schema' | 'asBody'> {
  // The list is named by the query; the contract wants a name beside the rows.
  const asBody = (rows: unknown[]) =>
    hasPayload(operation) ? { price_list_name: 'list', payload: rows } : rows
  const feed = feeds[operation.id as keyof typeof feeds] as Feed<OperationId>
  return { feed, schema: readRowSchema(operation), asBody }
}
