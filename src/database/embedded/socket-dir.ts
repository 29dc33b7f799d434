import { existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { CannotStart } from '../errors.ts'
import { systemDir } from './binaries.ts'
import { isReachable, makeReachable, type SystemUser } from './system-user.ts'

/** The socket's file in its folder. */
export const socketName = '.s.PGSQL.5432'

/** What the address of a socket may have, its end left out: macOS takes 104 bytes, Linux 108. */
const pathBytesMax = 103

/**
 * A new folder for the socket: among the temporary files, or, where these are closed to the Postgres user (libpam-tmpdir
 * gives root a folder of its own), in a folder of root's. Throws `CannotStart` where no socket could be reached there.
 */
export function makeSocketDir(user: SystemUser | undefined): string {
  const temporary = resolve(tmpdir())
  const isOpen = !existsSync(temporary) || isReachable(temporary, user)
  if (!isOpen) makeReachable(systemDir, user)
  const start = join(isOpen ? temporary : systemDir, 'pricewell-')
  if (Buffer.byteLength(join(`${start}XXXXXX`, socketName)) > pathBytesMax)
    throw new CannotStart(
      `${temporary} is too long for the path of a socket: set TMPDIR to a shorter one`,
    )
  return mkdtempSync(start)
}
