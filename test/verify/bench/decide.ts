import { fillService } from './fill.ts'
import { updateBody, updatePath } from './lists.ts'
import { timed, type Workload } from './measure.ts'
import type { Bench, Service } from './servers.ts'

const setting = 'set 100,000 prices'

/** The same change at once, and as a plan that is then applied. */
const planWorkload: Workload = {
  rows: [
    { name: setting, unit: 'ms' },
    { name: `${setting}, plan`, unit: 'ms', goal: { ratio: 1, of: setting } },
    { name: `${setting}, apply the plan`, unit: 'ms', goal: { ratio: 1, of: setting } },
  ],
  ours: async ({ ours }) => {
    const [one, other] = [updateBody(100_000), updateBody(100_000)]
    const atOnce = await timed(() => ours.post(updatePath, one))
    let plan = ''
    const planned = await timed(async () => {
      plan = locationOf(await ours.post(`${updatePath}?plan=true`, other))
    })
    const applied = await timed(() => ours.postToEnd(`${plan}apply/`, '{}'))
    return [atOnce, planned, applied]
  },
}

function locationOf(head: string): string {
  return /\r\nlocation: (\S+)/i.exec(head)?.[1] ?? ''
}

const guarding = 'update 10,000 prices without guardrails'

/** The same change under other settings of the list, which are undone at the end. */
const guardrailWorkload: Workload = {
  rows: [
    { name: guarding, unit: 'ms' },
    { name: 'with limits of the change', unit: 'ms', goal: { ratio: 1.1, of: guarding } },
    { name: 'with limits of change and margin', unit: 'ms', goal: { ratio: 1.1, of: guarding } },
  ],
  ours: async ({ ours }) => {
    const change = { max_increase_percent: 1e9, max_decrease_percent: 100 }
    const times: number[] = []
    for (const guardrails of [null, change, { ...change, min_margin_percent: -1e9 }]) {
      await setGuardrails(ours, guardrails)
      const body = updateBody(10_000)
      times.push(await timed(() => ours.post(updatePath, body)))
    }
    await setGuardrails(ours, null)
    return times
  },
}

async function setGuardrails({ sql, request, connect }: Service, guardrails: object | null) {
  const { rows } = await sql.query(`select id from price_lists where name = 'Bench'`)
  const client = connect()
  const path = `/api/v1/price_list/${rows[0].id}/`
  await client.send(request('PATCH', path, JSON.stringify({ guardrails })))
  client.close()
}

const millionRows = 1_000_000
let services: Promise<Service> | undefined

function million(bench: Bench): Promise<Service> {
  services ??= startMillion(bench)
  return services
}

/** A million products with a price, three competitors and a sale each. */
async function startMillion(bench: Bench): Promise<Service> {
  const service = await bench.startBeside('million')
  const { sql, account } = service
  await fillService(service, millionRows)
  await sql.query(`
    insert into competitor_prices (account_id, hash, code, dimensions, competitor_name, competitor_price, latest_update)
    select account_id, sha256((id || ':' || n)::text::bytea), code, array[code, 'UK'], 'C' || n, 5 + n + id % 20, now()
    from products, generate_series(1, 3) n where account_id = ${account}`)
  await sql.query(`
    insert into sales (account_id, transaction_id, code, extension, quantity, revenue, transaction_date)
    select account_id, 'S' || id, code, '["UK"]', 2, 20, now() from products where account_id = ${account}`)
  await sql.query('vacuum analyze')
  return service
}

const repriceWorkload: Workload = {
  rows: [{ name: 'reprice 1,000,000 rows by competitors and sales', unit: 'ms' }],
  prepare: million,
  ours: async (bench) => {
    const service = await million(bench)
    const formula =
      '= ENDING(MAX(COMP_MEDIAN * 0.99, COSTS / 0.8, IF(SALES_QTY > 1, Price, 0)), 0.99)'
    const body = JSON.stringify({ price_list_name: 'Bench', formula })
    const time = await timed(() => service.postToEnd('/api/v1/prices/reprice/', body))
    await service.sql.query('delete from plans')
    return [time]
  },
}

/** What decides a price: plans, guardrails, a rule over all rows. */
export const decideWorkloads: Workload[] = [planWorkload, guardrailWorkload, repriceWorkload]
