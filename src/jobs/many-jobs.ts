import { Problem } from '../contract/problem.ts'
import type { Trx } from '../database/pool.ts'

/** Of an account, files not among them. */
const jobsMax = 1000
/** Files are loaded at some 30,000 rows a second: a large one takes minutes. */
const retrySeconds = 60

/**
 * Throws `too-many-requests` when as many jobs of the account as it may have have not ended. Of those that are accepted at
 * the same time a few more may be.
 */
export async function rejectManyJobs(trx: Trx, account: number): Promise<void> {
  const count = await countUnfinished(trx, account, '<>')
  if (count >= jobsMax)
    throw tooMany(`${count} jobs of this account wait or are under way already.`)
}

/** `rejectManyJobs` for files that are stored for jobs, of which the account may have `filesMax`. */
export async function rejectManyFiles(trx: Trx, account: number, filesMax: number): Promise<void> {
  const count = await countUnfinished(trx, account, '=')
  if (count >= filesMax) throw tooMany(`${count} files of this account wait to be loaded already.`)
}

/** Jobs that load files (`=`), or the others. */
async function countUnfinished(trx: Trx, account: number, isFile: '=' | '<>'): Promise<number> {
  const { count } = await trx
    .selectFrom('jobs')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('account_id', '=', account)
    .where('kind', isFile, 'load-file')
    .where('status', '=', 'progress')
    .executeTakeFirstOrThrow()
  return count
}

function tooMany(detail: string): Problem {
  const headers = { 'retry-after': String(retrySeconds) }
  return new Problem('too-many-requests', detail, { headers })
}
