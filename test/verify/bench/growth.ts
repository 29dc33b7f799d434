import { fillSales, fillService, storedRows } from './fill.ts'
import { timed, type Workload } from './measure.ts'
import { readBodies, readServer } from './reads.ts'
import type { Bench, Service } from './servers.ts'
import { bodiesOf, sales } from './upserts.ts'

const sizes = { small: storedRows, large: 10 * storedRows }

/** Two services that do nothing else. */
let services: Promise<{ small: Service; large: Service }> | undefined

async function start(bench: Bench) {
  const [small, large] = [await bench.startBeside('small'), await bench.startBeside('large')]
  await fillService(small, sizes.small)
  await fillService(large, sizes.large)
  for (const { sql } of [small, large]) await sql.query('vacuum analyze')
  return { small, large }
}

function prepare(bench: Bench) {
  services ??= start(bench)
  return services
}

/** The same work with ten times the rows stored; `work` returns ms. */
function growthWorkload(
  name: string,
  work: (service: Service, stored: number) => Promise<number>,
): Workload {
  const rowName = (stored: number) => `${name}, ${stored.toLocaleString('en')} stored`
  const base = rowName(sizes.small)
  return {
    rows: [
      { name: base, unit: 'ms' },
      { name: rowName(sizes.large), unit: 'ms', goal: { ratio: 1.25, of: base } },
    ],
    prepare,
    ours: async (bench) => {
      const { small, large } = await prepare(bench)
      return [await work(small, sizes.small), await work(large, sizes.large)]
    },
  }
}

async function upsertNew(service: Service, stored: number): Promise<number> {
  const { rows } = await service.sql.query('select count(*)::integer from sales')
  if (rows[0].count > stored * 1.15) {
    await service.sql.query('truncate sales')
    await fillSales(service.sql, stored, service.account)
    await service.sql.query('analyze sales')
  }
  const [body = ''] = bodiesOf(sales, 10_000).fresh
  return timed(() => service.post(sales.path, body))
}

async function readHundred(service: Service, stored: number): Promise<number> {
  const [readsPerSecond = 0] = await readServer(service, readBodies(100, stored))
  return 1000 / readsPerSecond
}

/** What a call, and a read by one of 8 clients, cost when there are ten times as many rows. */
export const growthWorkloads: Workload[] = [
  growthWorkload('growth: 10,000 new sales', upsertNew),
  growthWorkload('growth: a read of 100', readHundred),
]
