import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { removeDataDir } from '../../src/database/embedded/cluster.ts'
import { startEmbeddedPostgres } from '../../src/database/embedded/postgres.ts'
import { databaseUrl } from '../../src/database/server.ts'
import { calendarMeasures } from './calendar.ts'
import { competitorMeasures } from './competitor-prices.ts'
import { listMeasures } from './lists.ts'
import { loadMeasures } from './load.ts'
import { type Result, run, type Unit } from './measure.ts'
import { priceMeasures } from './prices.ts'
import { promotionMeasures } from './promotions.ts'
import { growthMeasures, salesMeasures } from './sales.ts'
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
let stopping: Promise<void> | undefined
const close = [postgres.stop, async () => removeDataDir(dataDir)]
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void stop().finally(() => process.exit(1)))
const client = new pg.Client({ connectionString: postgres.url })
await client.connect()
await client.query('create database bench')
await client.end()
const measures = [
  ...salesMeasures(present),
  ...competitorMeasures(present),
  ...priceMeasures(present),
  ...promotionMeasures(options.quick ? 10_000 : 100_000),
  ...listMeasures(present),
  ...calendarMeasures(options.quick ? 1000 : 10_000),
  ...loadMeasures,
  ...growthMeasures(options.quick ? 1_000_000 : 10_000_000),
]
const results: Result[] = []
const service = await startBenchService(databaseUrl(postgres.url, 'bench'))
close.unshift(service.stop)
try {
  for (const measure of measures.filter(({ name }) => name.includes(options.only))) {
    process.stderr.write(`${measure.name} ...`)
    const result = await run(measure, service, rounds)
    results.push(result)
    process.stderr.write(` ${shown(result.figure, result.unit)} ${result.verdict}\n`)
  }
} finally {
  await stop()
}

/** A signal breaks off the measure that runs: both come here, and wait for the same end. */
function stop(): Promise<void> {
  stopping ??= close.reduce((before, step) => before.then(step), Promise.resolve())
  return stopping
}

if (options.json) console.log(JSON.stringify(results))
else {
  const rows = results.map(({ name, ours, bare, figure, unit, floor, aim, verdict }) => [
    name,
    {
      ...{ 'ours ms': round(ours), 'bare ms': round(bare), figure: shown(figure, unit) },
      ...{ floor: shown(floor, unit), aim: shown(aim, unit), verdict },
    },
  ])
  console.table(Object.fromEntries(rows))
}

function shown(value: number | undefined, unit: Unit): string {
  if (value === undefined) return ''
  return `${round(value)}${{ share: '', times: ' x', ms: ' ms' }[unit]}`
}

function round(value: number | undefined): number | string {
  return value === undefined ? '' : Number(value.toPrecision(3))
}
