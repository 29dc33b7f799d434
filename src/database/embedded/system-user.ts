import { chmodSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { CannotStart } from '../errors.ts'

/** The operating system user that Postgres runs as. */
export interface SystemUser {
  uid: number
  gid: number
}

/** Postgres refuses to run as root: the user to drop to, or undefined when we are not root. */
export function findPostgresUser(): SystemUser | undefined {
  if (process.getuid?.() !== 0) return undefined
  const users = readFileSync('/etc/passwd', 'utf8')
  for (const name of ['postgres', 'nobody']) {
    const entry = new RegExp(`^${name}:[^:]*:(\\d+):(\\d+):`, 'm').exec(users)
    if (entry) return { uid: Number(entry[1]), gid: Number(entry[2]) }
  }
  throw new CannotStart(
    'PostgreSQL cannot run as root and there is no user "postgres" or "nobody": start as another user',
  )
}

/** Whether `user` may pass through every folder above `path`, and `path` itself (read and pass). */
export function isReachable(path: string, user: SystemUser | undefined): boolean {
  if (!user) return true
  const { mode, uid } = statSync(path)
  const bits = uid === user.uid ? mode >> 6 : mode
  return (bits & 0o001) !== 0 && (path === '/' || isReachable(dirname(path), user))
}

/** Makes a folder that `user` may pass through, unless there is one: `mkdir` alone leaves it closed under umask 077. */
export function makeReachable(dir: string, user: SystemUser | undefined): void {
  mkdirSync(dir, { recursive: true })
  if (!isReachable(dir, user)) chmodSync(dir, 0o755)
}
