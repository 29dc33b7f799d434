import t from 'tap'
import { onOneConnection } from '../../../src/database/connection-setup.ts'
import { databaseUrl } from '../../../src/database/server.ts'
import { commandLine } from '../../helpers/command-line.ts'
import { startProcess } from '../../helpers/process.ts'
import { jwtSecret, type TestAccount } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { aFilledList } from '../../helpers/shop.ts'

/* A node of the cluster is down: its accounts get 503, the others go on. Runs alone, on a cluster as in run.ts. */

const { TEST_CLUSTER_URL: clusterUrl = '' } = process.env
const service = await sharedService()

const row = { code: 'A', country: 'UK' }
const promotion = {
  name: 'P',
  kind: 'amount',
  value: 1,
  valid_from: '2026-01-01',
  valid_to: '2026-12-31',
}

interface Shop extends TestAccount {
  /** The address of the node that has its rows. */
  node: string
}

/** An account with a published list "L" and a competitor schema. */
async function aPublishedShop(): Promise<Shop> {
  const { shop } = await aFilledList(t, service, { codes: ['A', 'B'], rows: [row] })
  await shop.post('/api/v1/competitor_prices/schema/create_schema/', {
    attributes_config: ['code'],
    is_dated: false,
  })
  const { rows } = await onOneConnection(clusterUrl, (client) =>
    client.query(
      `select nodename || ':' || nodeport as node from citus_shards
       where table_name = 'accounts'::regclass and shardid = get_shard_id_for_distribution_column('accounts', $1::bigint)`,
      [shop.id],
    ),
  )
  return { ...shop, node: rows[0].node }
}

let price = 1
const isDone = (status: number) => status < 300

/** Calls of every kind; returns their statuses. */
async function statusesOf(shop: Shop): Promise<Record<string, number>> {
  const prices = [{ ...row, price: price++ }]
  const list = { price_list_name: 'L' }
  const calls: [string, object][] = [
    ['prices/get_prices/', { ...list, payload: [row] }],
    ['prices/bulk_update_prices/', { ...list, payload: prices }],
    ['prices/bulk_update_prices/?plan=true', { ...list, payload: prices }],
    ['prices/bulk_add_products/', { ...list, payload: [{ ...row, code: 'B' }] }],
    ['prices/bulk_remove_products/', { ...list, payload: [{ ...row, code: 'B' }] }],
    ['prices/sync_with_catalog/', list],
    ['product_catalog/bulk_create_or_update/', [row]],
    [
      'sales_history/bulk_create_or_update',
      [{ transaction_id: 'T', code: 'A', extension: '', quantity: '1', revenue: '1' }],
    ],
    [
      'competitor_prices/bulk_create_or_update/',
      [{ code: 'A', competitor_name: 'R', competitor_price: price }],
    ],
    [
      'agreement/bulk_create_or_update',
      [
        {
          name: 'G',
          client_code: 'C',
          price_list_code: 'L',
          price_line: { code: 'A' },
          prices: { price },
        },
      ],
    ],
    ['promotions/bulk_create_or_update/', [{ ...promotion, value: price }]],
    ['promotions/bulk_create_or_update/?plan=true', [{ ...promotion, value: price + 1 }]],
  ]
  const statuses: Record<string, number> = {}
  for (const [path, body] of calls)
    statuses[path] = (await shop.post(`/api/v1/${path}`, body)).status
  return statuses
}

/** Lets a node accept no connections to the database of the cluster, or accept them again. */
async function setAccepting(node: string, isAccepting: boolean): Promise<void> {
  const url = new URL(databaseUrl(clusterUrl, 'postgres'))
  const name = new URL(clusterUrl).pathname.slice(1)
  url.host = node
  await onOneConnection(url.toString(), async (client) => {
    await client.query(`alter database ${name} allow_connections ${isAccepting}`)
    if (isAccepting) return
    const sessions = 'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1'
    await client.query(sessions, [name])
  })
}

t.test('a node that is down stops its own accounts only', async (t) => {
  const down = await aPublishedShop()
  let other = await aPublishedShop()
  while (other.node === down.node) other = await aPublishedShop()
  const before = await statusesOf(down)
  t.ok(Object.values(before).every(isDone), JSON.stringify(before))

  await setAccepting(down.node, false)
  t.teardown(() => setAccepting(down.node, true))
  const meanwhile = await statusesOf(other)
  t.ok(Object.values(meanwhile).every(isDone), JSON.stringify(meanwhile))
  const refused = await statusesOf(down)
  t.ok(
    Object.values(refused).every((status) => status === 503),
    JSON.stringify(refused),
  )
  const { body } = await other.get('/health/ready')
  t.strictSame(body, { status: 'ok', missing_nodes: [down.node] })
  const cli = commandLine(t, { DATABASE_URL: service.url })
  const { stdout } = await cli.run('cluster', 'status', '--json')
  const { nodes, largest_accounts } = JSON.parse(stdout)
  const isDown = ({ name }: { name: string }) => name === down.node
  t.match(nodes.filter(isDown), [{ is_reachable: false }])
  t.notOk(largest_accounts.some(({ node }: { node: string }) => node === down.node))
  t.match(await cli.run('account', 'create', '--account', 'x', '--email', 'x@acme.example'), {
    code: 1,
    stderr: /bring that node of the cluster up/,
  })
  const started = await startProcess(t, { DATABASE_URL: service.url, JWT_SECRET: jwtSecret })
  t.equal((await fetch(`${started.url}/health/ready`)).status, 200, 'a process starts')
  await started.stop()

  await setAccepting(down.node, true)
  const after = await statusesOf(down)
  t.ok(Object.values(after).every(isDone), JSON.stringify(after))
})
