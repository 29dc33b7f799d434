import {
  closeSync,
  fchownSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { keptSecret } from '../../lib/secret-file.ts'
import { onOneConnection } from '../connection-setup.ts'
import { StartupError } from '../errors.ts'
import type { SystemUser } from './binaries.ts'

const passwordFile = (dataDir: string): string => join(dataDir, 'postgres-password')

/** Returns the superuser's password; creates it if there is none. */
export function readPassword(dataDir: string): string {
  return keptSecret(passwordFile(dataDir))
}

const trusting = /^([^#\n]*\s)trust(?=\s*$)/gm

/** Whether the server accepts connections without a password, which an operator who lost it may have allowed. */
export function trustsAnyone(cluster: string): boolean {
  return readRules(cluster).search(trusting) >= 0
}

/** Sets the password of a server that trusts anyone; from then on every connection needs it. */
export async function endTrust(
  { cluster, user }: { cluster: string; user: SystemUser | undefined },
  url: string,
  password: string,
): Promise<void> {
  await onOneConnection(url, async (client) => {
    // Another process may do the same.
    await client.query('select pg_advisory_lock(1)')
    // Keeps the password out of the server's log if the statement fails.
    await client.query('set log_min_error_statement = panic')
    await client.query(`alter role postgres password ${pg.escapeLiteral(password)}`)
    writeRules(cluster, readRules(cluster).replace(trusting, '$1scram-sha-256'), user)
    await client.query('select pg_reload_conf()')
  })
}

function readRules(cluster: string): string {
  return readFileSync(join(cluster, 'pg_hba.conf'), 'utf8')
}

/** The folder belongs to the Postgres user: root must not follow a link that this user put there. */
function writeRules(cluster: string, rules: string, user: SystemUser | undefined): void {
  const path = join(cluster, 'pg_hba.conf')
  const unfinished = `${path}.new`
  rmSync(unfinished, { force: true })
  const file = openSync(unfinished, 'wx', 0o600)
  if (user) fchownSync(file, user.uid, user.gid)
  writeSync(file, rules)
  closeSync(file)
  renameSync(unfinished, path)
}

/** Returns the error for a server that refuses the password of its data directory. */
export function wrongPassword(dataDir: string, cluster: string): StartupError {
  return new StartupError(
    `the password in ${passwordFile(dataDir)} is not that of the database in ${cluster}: put the right file back. If it is lost, stop everything that uses the database and write "local all all trust" into its pg_hba.conf: the next start sets the password`,
  )
}
