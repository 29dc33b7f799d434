import { sql } from 'kysely'
import { findColumns } from '../catalog/columns.ts'
import type { Trx } from '../database/pool.ts'
import { type Attempt, inAttempt, type JobRow, type RunningJob } from '../jobs/attempt.ts'
import { endDone } from '../jobs/job-row.ts'
import { type RunJob, refusable } from '../jobs/run-job.ts'
import { syncChunk, syncResult } from './catalog-difference.ts'
import { archiveRemovedChunk, chunkRows, undoDraft } from './publication.ts'
import { publish } from './publish.ts'
import { lockListOf } from './queries.ts'

/** How far a sync has come. */
interface Place {
  /** The id of the last product handled. */
  after: number
  /** Undefined before the first chunk: the catalog, and so the total, may have changed since the job was accepted. */
  total?: number
  left?: number
}

/**
 * Makes the list match the catalog and the filters as they are when the job runs. The draft changes in chunks; the last
 * chunk publishes it. A retried attempt continues with the draft of the earlier one; rows count as added or removed by
 * comparison with the published version.
 */
export async function syncInChunks(attempt: Attempt, _: JobRow, rows = chunkRows): Promise<void> {
  let place: Place = { after: 0 }
  while (place.left !== 0) {
    const from = place
    place = await inAttempt(attempt, (trx, job) => syncFrom(from, trx, job, rows))
  }
}

async function syncFrom(
  { after, total }: Place,
  trx: Trx,
  job: RunningJob,
  rows: number,
): Promise<Place> {
  const list = await lockListOf(trx, job)
  // A row that was removed and comes back is a new row.
  if (await archiveRemovedChunk(trx, list, list.version)) return { after, left: 1 }
  const columns = await findColumns(trx, job.account_id)
  const { handled, left, last } = await syncChunk(trx, list, columns, { after, rows })
  const place = { after: last, total: total ?? handled, left }
  await trx
    .updateTable('jobs')
    .set({
      // `finished` includes an earlier attempt's work and never falls, even if the catalog has shrunk.
      total: sql`greatest(finished, ${place.total}::integer)`,
      finished: sql`greatest(finished, ${place.total - left}::integer)`,
      ...(left === 0 && { result: syncResult(list) }),
    })
    .where('account_id', '=', job.account_id)
    .where('id', '=', job.id)
    .execute()
  if (left > 0) return place
  const revision = await publish(trx, list, {
    kind: 'sync',
    origin: job.origin,
    job: job.id,
  })
  await endDone(trx, job, { revision })
  return place
}

/** A sync that a guardrail refuses leaves no draft. */
export const runSync: RunJob = refusable(syncInChunks, undoDraft)
