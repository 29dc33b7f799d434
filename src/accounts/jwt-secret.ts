import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'

/** A file that is shorter was not written to its end, or was cut. */
const charactersMin = 32

/** JWT_SECRET, or the one that the embedded database keeps in its data directory. */
export function readJwtSecret(config: Config): string {
  if (config.jwtSecret) return config.jwtSecret
  const path = join(config.dataDir, 'jwt-secret')
  mkdirSync(config.dataDir, { recursive: true })
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

/** Nobody finds it before it is whole. */
function createSecret(path: string): void {
  const own = `${path}.${process.pid}`
  writeFileSync(own, randomBytes(48).toString('base64'), { mode: 0o600, flush: true })
  try {
    linkSync(own, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(own, { force: true })
  }
}
