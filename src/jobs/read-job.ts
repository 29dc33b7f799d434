import { transaction } from '../contract/operation.ts'
import { findJob } from './job-info.ts'

/** Returns the state of a job, with its result once it is done. Throws `not-found`. */
export const readJob = transaction<'readJob'>((trx, { account, params }) =>
  findJob(trx, account, params.id),
)
