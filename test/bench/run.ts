import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { removeDataDir } from '../../src/database/embedded/cluster.ts'
import { startEmbeddedPostgres } from '../../src/database/embedded/postgres.ts'
import { databaseUrl } from '../../src/database/server.ts'
import { type Result, run } from './measure.ts'
import { priceMeasures } from './prices.ts'
import { salesMeasures } from './sales.ts'
import { startBenchService } from './service.ts'

/**
 * Measures the service against bare SQL on the same database, both sides in turns. `--only TEXT` runs the measures whose
 * name holds the text, `--quick` fills less and takes fewer rounds, `--json` prints JSON.
 */
const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})
const rounds = options.quick ? 3 : 5
const present = options.quick ? 100_000 : 1_000_000

const dataDir = mkdtempSync(join(tmpdir(), 'pricewell-bench-'))
const postgres = await startEmbeddedPostgres(dataDir)
const client = new pg.Client({ connectionString: postgres.url })
await client.connect()
await client.query('create database bench')
await client.end()
const service = await startBenchService(databaseUrl(postgres.url, 'bench'))

const results: Result[] = []
for (const measure of [...salesMeasures(present), ...priceMeasures(present)].filter(({ name }) =>
  name.includes(options.only),
)) {
  process.stderr.write(`${measure.name} ...\n`)
  results.push(await run(measure, service, rounds))
}
await service.stop()
await postgres.stop()
removeDataDir(dataDir)

if (options.json) console.log(JSON.stringify(results))
else {
  const shown = results.map(({ name, ours, bare, ratio, floor, aim, verdict }) => [
    name,
    { 'ours ms': round(ours), 'bare ms': round(bare), ratio: round(ratio), floor, aim, verdict },
  ])
  console.table(Object.fromEntries(shown))
}

function round(value: number): number {
  return Number(value.toPrecision(3))
}
