import { randomBytes } from 'node:crypto'
import { parseArgs } from 'node:util'
import { readConfig } from '../../../src/config.ts'
import { operations } from '../../../src/contract/document.ts'
import { startService } from '../../../src/service.ts'
import { knownNames, wholeNumber } from '../../helpers/choice.ts'
import { leaveNothing } from '../../helpers/leave-nothing.ts'
import { startOwnPostgres } from '../../helpers/own-postgres.ts'
import { metricsToken } from '../../helpers/service.ts'
import { huntPlanted, plantedBugs } from './planted/hunt.ts'
import { type Failure, type Findings, fuzz, openTarget, type Target } from './sessions.ts'
import { Mismatch } from './world.ts'

/**
 * Sends generated requests and compares the answers with a model: `npm run test:fuzz -- --runs 100000`.
 *
 *   --runs N     number of inputs (10000)
 *   --seed S     repeats the inputs of a run
 *   --only OP    mostly this operation
 *   --planted    plants bugs and reports which are found
 */
const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '10000' },
    seed: { type: 'string' },
    only: { type: 'string' },
    planted: { type: 'boolean', default: false },
  },
})
const runs = wholeNumber('runs', values.runs, 1)
const seed =
  values.seed === undefined ? randomBytes(3).readUIntBE(0, 3) : wholeNumber('seed', values.seed, 0)
const candidates = values.planted
  ? plantedBugs.map(({ operation }) => operation)
  : operations.map(({ id }) => id)
knownNames('operation', values.only === undefined ? [] : [values.only], candidates)

const command = leaveNothing()
const settings = ['fsync=off', 'synchronous_commit=off']
const postgres = await startOwnPostgres(command, 'fuzz', settings)
const secret = randomBytes(32).toString('base64')
const service = await startService(
  readConfig({
    DATABASE_URL: postgres.url,
    JWT_SECRET: secret,
    LOG_LEVEL: 'fatal',
    METRICS_TOKEN: metricsToken,
    // Requests are injected, so there is no connection to time out.
    ARRIVAL_SECONDS: '3600',
  }),
)
command.teardown(() => service.close())
const target = await openTarget(service, postgres.url, new TextEncoder().encode(secret))
command.teardown(() => target.close())

console.log(`seed ${seed}`)
const isGood = values.planted
  ? await huntPlanted(target, { runs, seed, only: values.only })
  : await report(target)
await command.end(isGood)

async function report(target: Target): Promise<boolean> {
  const start = performance.now()
  let shown = 0
  let told = 0
  const onProgress = ({ tally, sessions, failures }: Findings) => {
    for (const failure of failures.slice(told)) tell(failure)
    told = failures.length
    if (tally.total - shown < 2000) return
    shown = tally.total
    const rate = Math.round((tally.total / (performance.now() - start)) * 1000)
    console.log(
      `${tally.total} inputs in ${sessions} accounts, ${rate} a second, ${failures.length} failures`,
    )
  }
  const { tally, sessions, failures } = await fuzz(target, {
    runs,
    seed,
    only: values.only,
    failuresMax: 5,
    onProgress,
  })
  console.log(`\n${tally.table()}\n\n${tally.total} inputs in ${sessions} accounts, seed ${seed}`)
  console.log(`\nsent again after being refused:\n${tally.refusals()}`)
  const poor = tally.poor(values.only)
  if (poor.length > 0) console.log(`\nless than 30 % were answered 2xx: ${poor.join(', ')}`)
  return failures.length === 0 && poor.length === 0
}

/** The failure with the last requests of its account; the seed repeats it. */
function tell({ seed, error, trace }: Failure): void {
  console.log(`\nFAILED with --seed ${seed}: ${error.message}`)
  if (!(error instanceof Mismatch)) console.log(error.stack)
  console.log(trace.slice(-3).join('\n').slice(0, 4000))
}
