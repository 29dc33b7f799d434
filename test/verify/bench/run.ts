import { parseArgs } from 'node:util'
import { namedLike } from '../../helpers/choice.ts'
import { leaveNothing } from '../../helpers/leave-nothing.ts'
import { startOwnPostgres } from '../../helpers/own-postgres.ts'
import { calendarWorkloads } from './calendar.ts'
import { decideWorkloads } from './decide.ts'
import { fill } from './fill.ts'
import { growthWorkloads } from './growth.ts'
import { historyWorkloads } from './history.ts'
import { listWorkloads } from './lists.ts'
import { loadWorkloads } from './load.ts'
import { type Result, run, type Workload } from './measure.ts'
import { promotionWorkload } from './promotions.ts'
import { readWorkloads } from './reads.ts'
import { startBench } from './servers.ts'
import { salesWorkloads, upsertWorkloads } from './upserts.ts'

/**
 * Compares the service with a naive build and with one bare statement, alternating, on one PostgreSQL: an embedded one,
 * or that of TEST_DATABASE_URL (a superuser, database `postgres`). `--only TEXT` runs the rows with this text in their
 * names, `--quick` fewer and shorter rounds, `--json` prints JSON.
 */
const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})
const rounds = options.quick ? { warming: 1, counted: 3 } : { warming: 3, counted: 7 }
const workloads: Workload[] = [
  ...readWorkloads,
  ...salesWorkloads,
  ...listWorkloads,
  ...upsertWorkloads,
  ...loadWorkloads,
  ...growthWorkloads,
  promotionWorkload,
  ...historyWorkloads,
  ...decideWorkloads,
  ...calendarWorkloads(options.quick ? 1000 : 10_000),
]

const isChosen = ({ name }: { name: string }) => name.includes(options.only)
namedLike(
  'row',
  workloads.flatMap(({ rows }) => rows),
  options.only,
)
const command = leaveNothing()
const url = process.env.TEST_DATABASE_URL ?? (await startOwnPostgres(command, 'bench')).url
const bench = await startBench(command, url)
await fill(bench)
const results: Result[] = []
for (const workload of workloads.filter(({ rows }) => rows.some(isChosen))) {
  const measured = (await run(workload, bench, rounds)).filter(isChosen)
  results.push(...measured)
  for (const result of measured) process.stderr.write(`${lineOf(result)}\n`)
}

if (options.json) console.log(JSON.stringify(results))
else console.table(Object.fromEntries(results.map((result) => [result.name, cellsOf(result)])))
await command.end(true)

function lineOf(result: Result): string {
  const cells = Object.entries(cellsOf(result)).filter(([, cell]) => cell !== '')
  return `${result.name}: ${cells.map(([name, cell]) => `${name} ${cell}`).join(', ')}`
}

function cellsOf({ unit, goal, ...result }: Result): Record<string, string | number> {
  const isHigh = unit.endsWith('/s')
  return {
    unit,
    ours: rounded(result.ours),
    naive: rounded(result.naive),
    floor: rounded(result.floor),
    'ours/naive': rounded(result.oursToNaive),
    'ours/floor': rounded(result.oursToFloor),
    goal: goal ? `${isHigh ? '>=' : '<='} ${goal.ratio} x ${goal.of}` : '',
    is: rounded(result.oursToGoal),
    '': result.isReached === undefined ? '' : result.isReached ? 'reached' : 'missed',
  }
}

function rounded(value: number | undefined): number | string {
  return value === undefined ? '' : Number(value.toPrecision(3))
}
