import { databaseUrl } from '../../../src/database/server.ts'
import { knownNames } from '../../helpers/choice.ts'
import { query } from '../../helpers/database.ts'
import { leaveNothing } from '../../helpers/leave-nothing.ts'
import { startOwnPostgres } from '../../helpers/own-postgres.ts'
import { measureIsolation } from './isolation.ts'
import { measureMemory } from './memory.ts'
import { measureOverload } from './overload.ts'
import { Report } from './report.ts'
import { startLoadedService } from './service.ts'
import { measureSlowSockets } from './slow-sockets.ts'

/**
 * Overloads the service and prints how it fares. Exits with 1 when a bound is broken; times and rates are no
 * bounds. Arguments pick measures (`memory isolation`); settings come from the environment.
 */
const measures = {
  overload: measureOverload,
  isolation: measureIsolation,
  memory: measureMemory,
  'slow-sockets': measureSlowSockets,
}
const chosen = knownNames('measure', process.argv.slice(2), Object.keys(measures))
const report = new Report()
const command = leaveNothing()
const { url } = await startOwnPostgres(command, 'overload')
for (const [name, measure] of Object.entries(measures)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue
  console.log(`\n${name}`)
  const database = `overload_${name.replace('-', '_')}`
  await query(url, `create database ${database}`)
  const service = await startLoadedService(command, databaseUrl(url, database))
  await measure(service, report).finally(() => service.stop())
}
await command.end(report.failures === 0)
