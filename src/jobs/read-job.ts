import type { Handler } from '../contract/operation.ts'
import { findJob } from './job-info.ts'

/** The state of a job, with its result when it is done. */
export const readJob: Handler<'readJob'> = ({ account, params, inAccount }) =>
  inAccount((trx) => findJob(trx, account, params.id))
