import type { Handler } from '../contract/operation.ts'
import { findJob } from './job-info.ts'

/** Returns the state of a job, with its result once it is done. Throws `not-found`. */
export const readJob: Handler<'readJob'> = ({ account, params, inAccount }) =>
  inAccount((trx) => findJob(trx, account, params.id))
