import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { StartupError } from '../errors.ts'
import { isReachable, makeReachable, type SystemUser, systemDir } from './binaries.ts'
import { readPassword } from './password.ts'

/**
 * Returns the folder of the cluster, which initdb makes if it does not exist: `<dataDir>/postgres` or, if the Postgres
 * user cannot reach that, a folder in `systemDir` to which `<dataDir>/postgres` links. Throws StartupError.
 */
export function prepareCluster(
  dataDir: string,
  native: string,
  user: SystemUser | undefined,
): string {
  mkdirSync(dataDir, { recursive: true, mode: 0o755 })
  const link = join(dataDir, 'postgres')
  if (existsSync(link)) return checkOwner(realpathSync(link), user)
  const home = isReachable(dataDir, user) ? dataDir : systemDir
  if (home === systemDir) makeReachable(home, user)
  const password = readPassword(dataDir)
  const cluster = initialise(mkdtempSync(join(home, 'cluster-')), password, native, user)
  try {
    if (home === dataDir) renameSync(cluster, link)
    else symlinkSync(cluster, link)
  } catch (error) {
    if (!existsSync(link)) throw error
    rmSync(cluster, { recursive: true })
  }
  return realpathSync(link)
}

/** Whether a data directory holds a database. */
export function holdsCluster(dataDir: string): boolean {
  return existsSync(join(dataDir, 'postgres'))
}

/** Deletes a data directory and the cluster to which it links. */
export function removeDataDir(dataDir: string): void {
  const link = join(dataDir, 'postgres')
  if (existsSync(link)) rmSync(realpathSync(link), { recursive: true, force: true })
  rmSync(dataDir, { recursive: true, force: true })
}

function checkOwner(cluster: string, user: SystemUser | undefined): string {
  const owner = lstatSync(cluster).uid
  const expected = user?.uid ?? process.getuid?.()
  if (expected !== undefined && owner !== expected) {
    throw new StartupError(
      `${cluster} belongs to user ${owner}, not to ${expected}: give it to that user (chown -R), or set DATA_DIR to another folder`,
    )
  }
  return cluster
}

const initOptions = [
  '--encoding=UTF8',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--locale=C',
  '--username=postgres',
  '--auth=scram-sha-256',
]

function initialise(
  cluster: string,
  password: string,
  native: string,
  user: SystemUser | undefined,
): string {
  // The Postgres user cannot read the original password file.
  const passwordFile = `${cluster}.password`
  writeFileSync(passwordFile, password, { mode: 0o600, flag: 'wx' })
  if (user) for (const path of [cluster, passwordFile]) chownSync(path, user.uid, user.gid)
  chmodSync(cluster, 0o700)
  try {
    execFileSync(
      join(native, 'bin', 'initdb'),
      ['-D', cluster, `--pwfile=${passwordFile}`, ...initOptions],
      { ...user, cwd: dirname(cluster), stdio: ['ignore', 'ignore', 'pipe'], env: {} },
    )
  } finally {
    rmSync(passwordFile)
  }
  return cluster
}
