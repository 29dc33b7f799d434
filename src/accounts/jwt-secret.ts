import { join } from 'node:path'
import type { Config } from '../config.ts'
import { keptSecret } from '../lib/secret-file.ts'

/** JWT_SECRET, or the one that the embedded database keeps in its data directory. */
export function readJwtSecret(config: Config): string {
  return config.jwtSecret || keptSecret(join(config.dataDir, 'jwt-secret'))
}
