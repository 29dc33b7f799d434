import { parseArgs } from 'node:util'
import { databaseUrl } from '../../../src/database/server.ts'
import { namedLike } from '../../helpers/choice.ts'
import { query } from '../../helpers/database.ts'
import { leaveNothing } from '../../helpers/leave-nothing.ts'
import { startOwnPostgres } from '../../helpers/own-postgres.ts'
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
 * Compares the service with bare SQL on the same database, alternating. `--only TEXT` runs the measures with this
 * text in their names, `--quick` uses less data and fewer rounds, `--json` prints JSON.
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
const chosen = namedLike('measure', measures, options.only)
const command = leaveNothing()
const { url } = await startOwnPostgres(command, 'bench')
await query(url, 'create database bench')
const results: Result[] = []
const starting = startBenchService(databaseUrl(url, 'bench'))
command.teardown(async () => (await starting).stop())
const service = await starting
for (const measure of chosen) {
  process.stderr.write(`${measure.name} ...`)
  const result = await run(measure, service, rounds)
  results.push(result)
  process.stderr.write(` ${shown(result.figure, result.unit)} ${result.verdict}\n`)
}

if (options.json) console.log(JSON.stringify(results))
else {
  const rows = results.map(({ name, ours, bare, figure, unit, floor, aim, verdict }) => [
    name,
    {
      'ours ms': round(ours),
      'bare ms': round(bare),
      figure: shown(figure, unit),
      floor: shown(floor, unit),
      aim: shown(aim, unit),
      verdict,
    },
  ])
  console.table(Object.fromEntries(rows))
}
await command.end(true)

function shown(value: number | undefined, unit: Unit): string {
  if (value === undefined) return ''
  return `${round(value)}${{ share: '', times: ' x', ms: ' ms' }[unit]}`
}

function round(value: number | undefined): number | string {
  return value === undefined ? '' : Number(value.toPrecision(3))
}
