import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** A shorter file is incomplete. */
const charactersMin = 32

/** Reads a secret from a file that only its owner can read; creates the file if it is missing or incomplete. */
export function keptSecret(path: string): string {
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 })
  for (;;) {
    const secret = readSecret(path)
    if (secret && secret.length >= charactersMin) return secret
    if (secret !== undefined) rmSync(path, { force: true })
    createSecret(path)
  }
}

function readSecret(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return undefined
  }
}

/** Other processes see the file only when it is complete. */
function createSecret(path: string): void {
  const own = `${path}.${process.pid}`
  writeFileSync(own, randomBytes(48).toString('base64url'), { mode: 0o600, flush: true })
  try {
    linkSync(own, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(own, { force: true })
  }
}
