import { parseArgs } from 'node:util'
import { createTemplate } from '../helpers/database.ts'
import { type Cluster, createCluster } from './cluster.ts'
import type { Kind } from './kind.ts'
import { kinds } from './kinds.ts'
import { runOnce } from './run-once.ts'

/**
 * Breaks things for real, and shows what was survived: `npm run test:chaos -- --runs 20 --seed 1 --only kill-service`.
 * `--only` takes several kinds, with commas. Exits with 1 when a run was lost; its seed repeats its choices.
 */
const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
  },
})
const only = values.only?.split(',')
const unknown = only?.filter((name) => !kinds.some((kind) => kind.name === name)) ?? []
if (unknown.length > 0) {
  const known = kinds.map(({ name }) => name).join(', ')
  console.error(`No such kind: ${unknown.join(', ')}. There are: ${known}`)
  process.exit(1)
}

const cluster = createCluster()
await cluster.start()
await createTemplate(cluster.url)
const scores: { name: string; survived: number; runs: number }[] = []
for (const kind of kinds.filter(({ name }) => only?.includes(name) ?? true)) {
  const impossible = kind.impossible?.()
  if (impossible) {
    console.log(`${kind.name}: left out, ${impossible}`)
    continue
  }
  const score = { name: kind.name, survived: 0, runs: Number(values.runs) }
  for (let run = 0; run < score.runs; run++) {
    if (await survives(kind, cluster, Number(values.seed) + run)) score.survived++
  }
  scores.push(score)
}
await cluster.remove()

console.log('')
for (const { name, survived, runs } of scores)
  console.log(`${name.padEnd(22)} survived ${survived}/${runs}`)
process.exit(scores.every(({ survived, runs }) => survived === runs) ? 0 : 1)

/** One run, and one line about it. */
async function survives(kind: Kind, cluster: Cluster, seed: number): Promise<boolean> {
  const began = Date.now()
  const faults = await runOnce(kind, cluster, { seed })
  const seconds = ((Date.now() - began) / 1000).toFixed(1)
  console.log(`${faults.length === 0 ? 'ok  ' : 'LOST'} ${kind.name} seed ${seed}, ${seconds} s`)
  for (const fault of faults.slice(0, 20)) console.log(`     ${fault}`)
  if (faults.length > 20) console.log(`     and ${faults.length - 20} more`)
  return faults.length === 0
}
