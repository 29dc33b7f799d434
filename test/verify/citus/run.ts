import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { distribute } from '../../../src/database/cluster.ts'
import { onOneConnection, withOwnSettings } from '../../../src/database/connection-setup.ts'
import { migrate } from '../../../src/database/migrate.ts'
import { databaseUrl } from '../../../src/database/server.ts'
import { installQueue } from '../../../src/jobs/queue.ts'

/**
 * Runs the tests of operations on a cluster: TEST_DATABASE_URL names its coordinator (a superuser, database `postgres`),
 * TEST_CITUS_WORKERS its other nodes, such as `127.0.0.1:55501,127.0.0.1:55502`. Arguments name tests.
 */
const { TEST_DATABASE_URL: coordinator, TEST_CITUS_WORKERS: workers } = process.env
if (!coordinator || !workers)
  throw new Error('set TEST_DATABASE_URL and TEST_CITUS_WORKERS: see CONTRIBUTING.md')

const name = 'pricewell_test_cluster'
const nodes = workers.split(',').map((worker) => {
  const url = new URL(coordinator)
  url.host = worker
  return url.toString()
})
for (const url of [coordinator, ...nodes]) await createDatabase(url)
const url = withOwnSettings(databaseUrl(coordinator, name))
await onOneConnection(url, joinNodes)
await migrate(url)
await installQueue(url)
await onOneConnection(url, (client) => distribute(client, () => undefined))

const chosen = process.argv.slice(2)
const folders =
  '{accounts,agreements,catalog,competitor-prices,feeds,prices,price-lists,promotions,sales-history}'
/** They write to tables as the owner, count what all accounts have, or look at plans. */
const exclude = ['test/accounts/account-create.test.ts']
const files = chosen.length > 0 ? chosen : globSync(`test/${folders}/**/*.test.ts`, { exclude })
// Takes a node away, so it runs after the others.
const alone = join(import.meta.dirname, 'node-down.ts')
const passed =
  (await areTestsPassed(files)) && (chosen.length > 0 || (await areTestsPassed([alone])))
process.exitCode = passed ? 0 : 1

async function areTestsPassed(files: string[]): Promise<boolean> {
  const run = spawn(process.execPath, [join(import.meta.dirname, '../../run.ts'), ...files], {
    stdio: 'inherit',
    env: { ...process.env, TEST_CLUSTER_URL: databaseUrl(coordinator as string, name) },
  })
  const [status] = await once(run, 'exit')
  return status === 0
}

async function createDatabase(url: string): Promise<void> {
  await onOneConnection(url, async (client) => {
    await client.query(`drop database if exists ${name} with (force)`)
    await client.query(`create database ${name} encoding 'UTF8' template template0`)
  })
  await onOneConnection(databaseUrl(url, name), (client) => client.query('create extension citus'))
}

async function joinNodes(client: pg.ClientBase): Promise<void> {
  const { hostname, port } = new URL(coordinator as string)
  await client.query('select citus_set_coordinator_host($1, $2)', [hostname, port])
  for (const { hostname, port } of nodes.map((node) => new URL(node)))
    await client.query('select citus_add_node($1, $2)', [hostname, port])
}
