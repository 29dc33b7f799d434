import { hasRows } from '../database/planner.ts'
import { type Database, hasSpareConnections } from '../database/pool.ts'
import { inAccount } from '../database/tenant-transaction.ts'
import { type Attempt, inAttempt, inPartOfAttempt, type JobRow } from '../jobs/attempt.ts'
import { endDone, findProductIds, setRowIds } from '../jobs/job-row.ts'
import type { RunJob } from '../jobs/run-job.ts'
import { addDraftRowsWithIds, addNewDraftRows, analyzeRows } from './draft-rows.ts'
import { chunkRows, publish } from './publication.ts'
import { listIdOf, lockListOf, shareListOf } from './queries.ts'

/** Adds the job's products to the draft in chunks, each with its progress, then publishes the list with the result. */
export const runAddProducts: RunJob = async (attempt, job) => {
  const { db, account } = attempt
  const scope = { account_id: account, price_list_id: listIdOf(job) }
  // A job names each product once and jobs of a list run one by one, so a product is new to a list that was empty.
  const add = (await inAccount(db, account, (trx) => hasRows(trx, 'price_list_rows', scope)))
    ? addDraftRowsWithIds
    : addNewDraftRows
  let analyzing: Promise<void> | undefined
  for (let from = job.finished; from < job.total; from += chunkRows) {
    const until = Math.min(from + chunkRows, job.total)
    await addChunk(attempt, { from, until }, add)
    // The planner learns about the first chunk while the others are added, and about all rows before they are read.
    analyzing ??= analyzeList(attempt, job, until)
    analyzing.catch(() => undefined)
  }
  await analyzing
  await analyzeList(attempt, job, job.total)
  await publishResult(attempt)
}

/** Indexes of a job's products; `until` is exclusive. */
interface Range {
  from: number
  until: number
}

/** Half a chunk, so that two processors of the database share it. */
const partRows = chunkRows / 2

/**
 * Adds the parts of a chunk, then stores the ids of their rows. After a crash in between, the rows are found when they
 * are added again.
 */
async function addChunk(
  attempt: Attempt,
  { from, until }: Range,
  add: typeof addDraftRowsWithIds,
): Promise<void> {
  const half = Math.min(from + partRows, until)
  const parts = [{ from, until: half }, ...(half < until ? [{ from: half, until }] : [])]
  const addPart = (part: Range) =>
    inPartOfAttempt(attempt, async (trx, job) =>
      add(trx, await shareListOf(trx, job), await findProductIds(trx, job, part)),
    )
  const added = await inParallel(attempt.db, parts, addPart)
  const rowIds = `{${added.map((ids) => ids.slice(1, -1)).join(',')}}`
  await inAttempt(attempt, (trx, job) => setRowIds(trx, job, { from, rowIds, finished: until }))
}

/** Each part on its own connection if enough are idle, else one part after the other. */
async function inParallel<T, Result>(
  db: Database,
  parts: T[],
  work: (part: T) => Promise<Result>,
): Promise<Result[]> {
  if (hasSpareConnections(db, parts.length)) {
    const results = parts.map(work)
    // If one fails, wait for the other: nothing may go on behind a job that is retried.
    await Promise.allSettled(results)
    return Promise.all(results)
  }
  const results: Result[] = []
  for (const part of parts) results.push(await work(part))
  return results
}

/** Analyzes the rows up to product `until`, unless an earlier attempt added them. */
async function analyzeList({ db, account }: Attempt, job: JobRow, until: number): Promise<void> {
  const id = listIdOf(job)
  if (until > job.finished) await inAccount(db, account, (trx) => analyzeRows(trx, { id }, until))
}

/** The last transaction: publishes the rows and ends the job with their ids. */
function publishResult(attempt: Attempt): Promise<void> {
  return inAttempt(attempt, async (trx, job) => {
    const list = await lockListOf(trx, job)
    await publish(trx, list)
    await endDone(trx, job)
  })
}
