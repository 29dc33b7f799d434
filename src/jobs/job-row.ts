import { sql } from 'kysely'
import type { Schemas } from '../contract/operation.ts'
import type { Trx } from '../database/pool.ts'
import type { CurrentJob } from './attempt.ts'

function updateJob(trx: Trx, { account_id, id }: CurrentJob) {
  return trx.updateTable('jobs').where('account_id', '=', account_id).where('id', '=', id)
}

/** Records how many products or rows are done. The number never decreases; the total grows with it if need be. */
export async function setFinished(trx: Trx, job: CurrentJob, finished: number): Promise<void> {
  await updateJob(trx, job)
    .set({
      finished: sql`greatest(finished, ${finished}::integer)`,
      total: sql`greatest(total, ${finished}::integer)`,
    })
    .execute()
}

/** Returns the ids of the job's products from index `from` up to but excluding `until`, as an array literal. */
export async function findProductIds(
  trx: Trx,
  { account_id, id }: CurrentJob,
  { from, until }: { from: number; until: number },
): Promise<string> {
  const slice = sql<string>`product_ids[${from + 1}::integer:${until}::integer]::text`
  const { ids } = await trx
    .selectFrom('jobs')
    .select(slice.as('ids'))
    .where('account_id', '=', account_id)
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return ids
}

/** Records the progress, and the row ids of the products from index `from` on; a repeated chunk overwrites them. */
export async function setRowIds(
  trx: Trx,
  job: CurrentJob,
  { from, rowIds, finished }: { from: number; rowIds: string; finished: number },
): Promise<void> {
  await updateJob(trx, job)
    .set({
      row_ids: sql`row_ids[:${from}::integer] || ${rowIds}::bigint[]`,
      finished: sql`greatest(finished, ${finished}::integer)`,
    })
    .execute()
}

/** Adds one to the job's faults; returns the new count. */
export async function countFault(trx: Trx, job: CurrentJob): Promise<number> {
  const { faults } = await updateJob(trx, job)
    .set({ faults: sql`faults + 1` })
    .returning('faults')
    .executeTakeFirstOrThrow()
  return faults
}

/** The outcome of a job. */
export interface Outcome {
  /** Left out if it is stored already. */
  result?: object
  /** Of its file, if it has one. */
  rows?: number
  /** Of its list. */
  revision?: number | undefined
}

/** Ends a job as done, and deletes its file. */
export async function endDone(
  trx: Trx,
  job: CurrentJob,
  { result, rows, revision }: Outcome,
): Promise<void> {
  await updateJob(trx, job)
    .set({
      status: 'done',
      ...(result && { result: JSON.stringify(result) }),
      ...(rows !== undefined && { total: rows }),
      finished: rows ?? sql`total`,
      finished_at: sql`statement_timestamp()`,
      product_ids: null,
      revision: revision ?? null,
    })
    .execute()
  await deleteFile(trx, job)
}

/** Ends a job whose changes were undone. `errorCount` counts all bad rows' errors, including those not in `errors`. */
export async function endUndone(
  trx: Trx,
  job: CurrentJob,
  status: 'failed' | 'cancelled',
  errors: Schemas['Job']['errors'],
  errorCount = 0,
): Promise<void> {
  await updateJob(trx, job)
    .set({
      status,
      errors: JSON.stringify(errors),
      finished_at: sql`statement_timestamp()`,
      result: null,
      row_ids: null,
      product_ids: null,
      error: errorCount,
    })
    .execute()
  await deleteFile(trx, job)
}

async function deleteFile(trx: Trx, { account_id, id }: CurrentJob): Promise<void> {
  await sql`
    delete from file_pieces where account_id = ${account_id}
      and file_id = (select file_id from jobs where account_id = ${account_id} and id = ${id})`.execute(
    trx,
  )
}
