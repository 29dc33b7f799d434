import type { Selectable } from 'kysely'
import type { Jobs } from '../../generated/database.d.ts'
import type { Origin } from '../contract/operation.ts'
import type { Database, Trx } from '../database/pool.ts'
import { inAccount } from '../database/tenant-transaction.ts'

/** One attempt at a job. Fencing: a worker that was paused past its lease holds an old attempt and cannot commit. */
export interface Attempt {
  db: Database
  account: number
  job: number
  number: number
  /** Aborted when the process stops: the job is handed back between two chunks. */
  signal: AbortSignal
}

/** The job has ended, or another worker has taken it over. */
export class AttemptLost extends Error {}

/** The columns of a job that its runner needs. */
const runnerColumns = [
  ...(['account_id', 'id', 'price_list_id', 'kind', 'total', 'finished'] as const),
  ...(['operation', 'media_type', 'query', 'file_id'] as const),
]

export type JobRow = Pick<Selectable<Jobs>, (typeof runnerColumns)[number]> & { origin: Origin }

export type CurrentJob = Pick<JobRow, 'account_id' | 'id' | 'price_list_id'>

/** The columns of a job that a chunk needs. */
export type RunningJob = CurrentJob & Pick<JobRow, 'origin'>

/** Claims the job for this attempt. Throws AttemptLost if it has ended or a later attempt has begun. */
export async function startAttempt({ db, account, job, number }: Attempt): Promise<JobRow> {
  const row = await inAccount(db, account, (trx) =>
    trx
      .updateTable('jobs')
      .set({ attempt: number })
      .where('account_id', '=', account)
      .where('id', '=', job)
      .where('status', '=', 'progress')
      .where('attempt', '<=', number)
      .returning([...runnerColumns, 'origin'])
      .executeTakeFirst(),
  )
  return row ? (row as typeof row & { origin: Origin }) : lost()
}

/** Runs one chunk in a transaction that commits only while this attempt is the current one. Throws AttemptLost. */
export function inAttempt<T>(
  attempt: Attempt,
  work: (trx: Trx, job: RunningJob) => Promise<T>,
): Promise<T> {
  attempt.signal.throwIfAborted()
  return inAccount(attempt.db, attempt.account, async (trx) =>
    work(trx, await lockCurrent(trx, attempt)),
  )
}

/** Locks the job until the transaction ends. Throws AttemptLost if it has ended or a later attempt has begun. */
export async function lockCurrent(
  trx: Trx,
  { account, job, number }: Attempt,
): Promise<RunningJob> {
  const row = await trx
    .selectFrom('jobs')
    .select(['account_id', 'id', 'price_list_id', 'origin'])
    .where('account_id', '=', account)
    .where('id', '=', job)
    .where('status', '=', 'progress')
    .where('attempt', '=', number)
    .forUpdate()
    .executeTakeFirst()
  return row ? (row as typeof row & { origin: Origin }) : lost()
}

function lost(): never {
  throw new AttemptLost('the job has ended or another worker has taken it up')
}
