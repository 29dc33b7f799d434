import t from 'tap'
import { createTemplate } from '../../helpers/database.ts'
import { createCluster } from './cluster.ts'
import { kinds } from './kinds.ts'
import { runOnce } from './run-once.ts'

t.setTimeout(600_000)
const cluster = createCluster()
t.teardown(() => cluster.remove())
await cluster.start()
await createTemplate(cluster.url)

/** One run of each quick kind; `npm run test:chaos` does many of all kinds. */
for (const kind of kinds.filter(({ isQuick }) => isQuick)) {
  t.test(`nothing is lost, hung or half done: ${kind.name}`, async (t) => {
    const faults = await runOnce(kind, cluster, { seed: 1, timeFactor: 10 })
    t.equal(faults.length, 0, faults.join('; ') || 'no fault')
  })
}
