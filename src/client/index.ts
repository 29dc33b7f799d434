import type { components } from '../../generated/openapi-client.d.ts'

export type { operations, paths } from '../../generated/openapi-client.d.ts'
export { type Call, type ClientOptions, createClient, type PricewellClient } from './client.ts'
export { isJob, type Job, JobFailed, type JobInfo, type WaitOptions } from './jobs.ts'
export { Problem, type ProblemType, type RowError, Unreachable } from './problem.ts'
export type { Patience } from './retry.ts'

/** The schemas of the contract: `Schemas['PriceRow']`. */
export type Schemas = components['schemas']
