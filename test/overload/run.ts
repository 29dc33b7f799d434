import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { removeDataDir } from '../../src/database/embedded/cluster.ts'
import { startEmbeddedPostgres } from '../../src/database/embedded/postgres.ts'
import { databaseUrl } from '../../src/database/server.ts'
import { query } from '../helpers/database.ts'
import { measureIsolation } from './isolation.ts'
import { measureMemory } from './memory.ts'
import { measureOverload } from './overload.ts'
import { Report } from './report.ts'
import { startLoadedService } from './service.ts'
import { measureSlowSockets } from './slow-sockets.ts'

/**
 * Asks more of the service than it can do and prints how it fares. Ends with 1 when a bound is broken; times and rates
 * are figures, no bounds. Arguments pick measures (`memory isolation`); settings come from the environment.
 */
const measures = {
  overload: measureOverload,
  isolation: measureIsolation,
  memory: measureMemory,
  'slow-sockets': measureSlowSockets,
}
const chosen = process.argv.slice(2)
const report = new Report()
const dataDir = mkdtempSync(join(tmpdir(), 'pricewell-overload-'))
const postgres = await startEmbeddedPostgres(dataDir)
try {
  for (const [name, measure] of Object.entries(measures)) {
    if (chosen.length > 0 && !chosen.includes(name)) continue
    console.log(`\n${name}`)
    const database = `overload_${name.replace('-', '_')}`
    await query(postgres.url, `create database ${database}`)
    const service = await startLoadedService(databaseUrl(postgres.url, database))
    await measure(service, report).finally(() => service.stop())
  }
} finally {
  await postgres.stop()
  removeDataDir(dataDir)
}
process.exit(report.failures === 0 ? 0 : 1)
