import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'

/** JWT_SECRET, or the one that the embedded database keeps in its data directory. */
export function readJwtSecret(config: Config): string {
  if (config.jwtSecret) return config.jwtSecret
  const path = join(config.dataDir, 'jwt-secret')
  mkdirSync(config.dataDir, { recursive: true })
  try {
    writeFileSync(path, randomBytes(48).toString('base64'), { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  return readFileSync(path, 'utf8')
}
