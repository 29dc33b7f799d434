import { parseArgs } from 'node:util'
import { knownNames, wholeNumber } from '../../helpers/choice.ts'
import { createTemplate } from '../../helpers/database.ts'
import { leaveNothing } from '../../helpers/leave-nothing.ts'
import { createCluster } from './cluster.ts'
import type { Kind } from './kind.ts'
import { kinds } from './kinds.ts'
import { runOnce } from './run-once.ts'

/**
 * Injects real faults and checks the data: `npm run test:chaos -- --runs 20 --seed 1 --only kill-service`.
 * `--only` takes several kinds, with commas. Exits with 1 when a run failed (its seed repeats it) or no kind could
 * run.
 */
const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
  },
})
const runs = wholeNumber('runs', values.runs, 1)
const seed = wholeNumber('seed', values.seed, 0)
const names = kinds.map(({ name }) => name)
const chosen = knownNames('kind', values.only?.split(',') ?? names, names)

const command = leaveNothing()
const cluster = createCluster()
command.teardown(() => cluster.remove())
await cluster.start()
await createTemplate(cluster.url)
const outcomes: { name: string; survived?: number; text: string }[] = []
for (const kind of kinds.filter(({ name }) => chosen.includes(name))) {
  const { name } = kind
  const impossible = kind.impossible?.()
  if (impossible) outcomes.push({ name, text: `left out, ${impossible}` })
  else outcomes.push({ name, ...(await scoreOf(kind)) })
}

console.log('')
for (const { name, text } of outcomes) console.log(`${name.padEnd(22)} ${text}`)
const scores = outcomes.flatMap(({ survived }) => survived ?? [])
await command.end(scores.length > 0 && scores.every((survived) => survived === runs))

/** All runs of a kind. */
async function scoreOf(kind: Kind): Promise<{ survived: number; text: string }> {
  let survived = 0
  for (let run = 0; run < runs; run++) if (await survives(kind, seed + run)) survived++
  return { survived, text: `survived ${survived}/${runs}` }
}

/** One run and its line of output. */
async function survives(kind: Kind, seed: number): Promise<boolean> {
  const began = Date.now()
  const faults = await runOnce(kind, cluster, { seed, command })
  const seconds = ((Date.now() - began) / 1000).toFixed(1)
  console.log(`${faults.length === 0 ? 'ok  ' : 'LOST'} ${kind.name} seed ${seed}, ${seconds} s`)
  for (const fault of faults.slice(0, 20)) console.log(`     ${fault}`)
  if (faults.length > 20) console.log(`     and ${faults.length - 20} more`)
  return faults.length === 0
}
