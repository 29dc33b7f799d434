import { sqlStateOf } from '../database/loggable-error.ts'

const conflict = 'others change the same rows at the same time'

/**
 * What the database has not for a job, by SQLSTATE. It may have it later, or never: the job may be what fills the disk.
 */
const shortages: Record<string, string> = {
  '53100': 'the disk of the database is full',
  '53200': 'the database has too little memory for it',
  '53400': 'it needs more than a limit of the database allows, such as temp_file_limit',
  '57014': 'a statement of it takes longer than it may, or was cancelled',
  '25P04': 'a transaction of it takes longer than the database allows',
  '40001': conflict,
  '40P01': conflict,
}

/** What a job has failed for, in words for its account, if it is something that the database may never have for it. */
export function findShortage(error: unknown): string | undefined {
  return shortages[sqlStateOf(error) ?? '']
}
