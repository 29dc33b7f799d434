import { fillService, storedRows } from './fill.ts'
import { updateBody, updatePath } from './lists.ts'
import { timed, type Workload } from './measure.ts'
import { medianTime, readTime } from './reads.ts'
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

const services = new Map<number, Promise<Service>>()

/** Another service, with so many products that have a price, three competitors and a sale each. */
function market(bench: Bench, rows: number): Promise<Service> {
  const service = services.get(rows) ?? startMarket(bench, rows)
  services.set(rows, service)
  return service
}

async function startMarket(bench: Bench, rows: number): Promise<Service> {
  const service = await bench.startBeside(`market_${rows}`)
  const { sql, account } = service
  await fillService(service, rows)
  await sql.query(`
    insert into competitor_prices (account_id, hash, code, dimensions, competitor_name, competitor_price, latest_update)
    select account_id, sha256((id || ':' || n)::text::bytea), code, array[code, 'UK'], 'C' || n, 5 + n + id % 20, now()
    from products, generate_series(1, 3) n where account_id = ${account}`)
  await sql.query(`
    insert into sales (account_id, transaction_id, code, extension, quantity, revenue, transaction_date)
    select account_id, 'S' || id, code, 'UK', 2, 20, now() from products where account_id = ${account}`)
  await sql.query('vacuum analyze')
  return service
}

/** The answer of a read with competition and sales, as one statement. */
const barePosition = `
  select json_agg(row)::text as answer from (
    select r.id as pk, r.price_list_id, r.product_id as extended_catalog_id, r.code, i.country, r.prices[1] as active_price,
      (
        select json_build_object('count', count(*), 'lowest', min(competitor_price), 'highest', max(competitor_price),
          'lowest_name', (array_agg(competitor_name order by competitor_price, competitor_name))[1],
          'average', round(avg(competitor_price), 6),
          'median', percentile_cont(0.5) within group (order by competitor_price),
          'rank', 1 + count(*) filter (where competitor_price < r.prices[1]),
          'gap_percent', round((r.prices[1] / min(competitor_price) - 1) * 100, 6))
        from competitor_prices c
        where c.account_id = $2 and c.code = r.code and c.dimensions = array[r.code, i.country]
          and c.latest_update >= current_date - 30
      ) as competition,
      (
        select json_build_object('transactions', count(*), 'quantity', sum(quantity), 'revenue', sum(revenue),
          'average_price', round(sum(revenue) / sum(quantity), 6), 'last_at', max(transaction_date))
        from sales s
        where s.account_id = $2 and s.code = r.code and s.extension = i.country
          and (s.price_dimension is null or s.price_dimension = 'price')
          and (s.price_list_name is null or s.price_list_name = 'Bench')
          and s.transaction_date >= current_date - 29 and s.transaction_date < current_date + 1
      ) as sales
    from jsonb_to_recordset($1::jsonb -> 'payload') as i (code text, country text)
    join price_list_rows r on r.account_id = $2 and r.price_list_id = 1 and r.code = i.code
      and r.extension_key = jsonb_build_array(i.country)::text
  ) as row`

const positionWorkload: Workload = {
  rows: [
    {
      name: 'read 1,000 of a list with competition and sales',
      unit: 'ms',
      goal: { ratio: 1.5, of: 'floor' },
    },
  ],
  prepare: (bench) => market(bench, storedRows),
  ours: async (bench) => [
    await readTime(await market(bench, storedRows), {
      price_list_name: 'Bench',
      include: ['competition', 'sales'],
    }),
  ],
  floor: async (bench) => {
    const { sql, account } = await market(bench, storedRows)
    const read = (body: string) =>
      sql.query({ name: 'position', text: barePosition, values: [body, account] })
    return [await medianTime(read)]
  },
}

const millionRows = 1_000_000

const repriceWorkload: Workload = {
  rows: [{ name: 'reprice 1,000,000 rows by competitors and sales', unit: 'ms' }],
  prepare: (bench) => market(bench, millionRows),
  ours: async (bench) => {
    const service = await market(bench, millionRows)
    const formula =
      '= ENDING(MAX(COMP_MEDIAN * 0.99, COSTS / 0.8, IF(SALES_QTY > 1, Price, 0)), 0.99)'
    const body = JSON.stringify({ price_list_name: 'Bench', formula })
    const time = await timed(() => service.postToEnd('/api/v1/prices/reprice/', body))
    await service.sql.query('delete from plans')
    return [time]
  },
}

/** What decides a price: plans, guardrails, a position, a rule over all rows. */
export const decideWorkloads: Workload[] = [
  planWorkload,
  guardrailWorkload,
  positionWorkload,
  repriceWorkload,
]
