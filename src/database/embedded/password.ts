import { join } from 'node:path'
import { keptSecret } from '../../lib/secret-file.ts'
import { StartupError } from '../errors.ts'

const passwordFile = (dataDir: string): string => join(dataDir, 'postgres-password')

/** Returns the superuser's password; creates it if there is none. */
export function readPassword(dataDir: string): string {
  return keptSecret(passwordFile(dataDir))
}

/** Returns the error for a server that refuses the password of its data directory. */
export function wrongPassword(dataDir: string, cluster: string): StartupError {
  return new StartupError(
    `the password in ${passwordFile(dataDir)} is not that of the database in ${cluster}: put the right file back. If it is lost, begin the pg_hba.conf of the database with the line "local all all trust", start, run "alter role postgres password '<what the file has now>'", and take the line out again`,
  )
}
