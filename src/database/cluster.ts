import type pg from 'pg'
import { StartupError } from './errors.ts'
import { applicationRole, requestLockTimeoutMs } from './pool.ts'

/*
 * The service on Citus. All rows of an account are on one node; a statement that names its account runs there. No query
 * checks whether the database is distributed: each is written to work either way.
 */

/** Unique across all accounts, small, seldom written: each node has a copy. */
export const referenceTables = ['account_names', 'users']

/** Distributed by account: the rows of an account stay together. Tables come after those that they refer to. */
export const distributedTables = [
  'accounts',
  'api_keys',
  'catalog_columns',
  'products',
  'product_attributes',
  'price_lists',
  'price_list_rows',
  'calendar_months',
  'list_revisions',
  'list_changes',
  'calendar_changes',
  'removed_rows',
  'confirmed_prices',
  'plans',
  'plan_rows',
  'sales',
  'competitor_schemas',
  'competitor_prices',
  'agreements',
  'promotions',
  'promotion_versions',
  'jobs',
  'file_pieces',
  'idempotency_keys',
]

/** At most this many nodes can share the accounts. */
const shardCount = 32
const oldestCitus = 13

/** Session settings of the service that change results or plans: other nodes get them from the role. */
const roleSettings = {
  timezone: 'UTC',
  datestyle: 'ISO, YMD',
  search_path: 'public',
  row_security: 'on',
  random_page_cost: '1.1',
  enable_material: 'off',
  jit: 'off',
  lock_timeout: `${requestLockTimeoutMs}ms`,
}

/**
 * Distributes the tables of a migrated database, empty or filled, that are not distributed yet, in one transaction: an
 * interrupted run distributes nothing. `client` connects as the owner of the tables. Calls `onTable` before each table,
 * which may take long. Throws a StartupError that says what to do if the database cannot be distributed now.
 */
export async function distribute(
  client: pg.ClientBase,
  onTable: (table: string) => void,
): Promise<void> {
  await rejectPlain(client)
  await prepareRole(client)
  const tables = await listLocal(client)
  if (tables.length === 0) return
  await rejectFewNodes(client)
  await rejectInUse(client)
  await client.query('begin')
  // Otherwise tables that refer to a reference table would become a kind that cannot be distributed later.
  await client.query('set local citus.enable_local_reference_table_foreign_keys = off')
  // Foreign keys to a reference table require a single connection to each node.
  await client.query(`set local citus.multi_shard_modify_mode = 'sequential'`)
  // Citus moves rows to other nodes as the owner, now and whenever accounts are rebalanced. It refuses if row-level
  // security is forced on the owner. The service's role is bound by it in any case.
  for (const table of await listForced(client))
    await client.query(`alter table ${table} no force row level security`)
  for (const table of tables) {
    onTable(table)
    await simplifyPolicy(client, table)
    await client.query(`select ${distributionOf(table)}`)
  }
  await client.query('commit')
}

/** Citus allows no subqueries in policies; elsewhere they read the setting once per statement, not once per row. */
async function simplifyPolicy(client: pg.ClientBase, table: string): Promise<void> {
  const column = ['account_names', 'accounts'].includes(table) ? 'id' : 'account_id'
  await client.query(
    `alter policy ${table}_of_account on ${table}
     using (${column} = nullif(current_setting('app.account', true), '')::bigint)`,
  )
}

function distributionOf(table: string): string {
  if (referenceTables.includes(table)) return `create_reference_table('${table}')`
  return table === 'accounts'
    ? `create_distributed_table('accounts', 'id', shard_count => ${shardCount})`
    : `create_distributed_table('${table}', 'account_id', colocate_with => 'accounts')`
}

/** Citus connects to other nodes as the service's role, so that role must be able to log in and carry the settings. */
async function prepareRole(client: pg.ClientBase): Promise<void> {
  await client.query(`alter role ${applicationRole} login`)
  for (const [name, value] of Object.entries(roleSettings))
    await client.query(`alter role ${applicationRole} set ${name} = '${value}'`)
}

async function rejectInUse(client: pg.ClientBase): Promise<void> {
  const [{ count } = { count: 0 }] = await select<{ count: number }>(
    client,
    `select count(*)::integer as count from pg_stat_activity
     where datname = current_database() and application_name like 'pricewell %' and pid <> pg_backend_pid()`,
  )
  if (count > 0)
    throw new StartupError(
      `the service has ${count} connections to this database: stop all of its processes first`,
    )
}

/** Throws StartupError for a plain PostgreSQL, or a Citus that is too old. */
export async function rejectPlain(client: pg.ClientBase): Promise<void> {
  const [citus] = await select<{ version: string }>(
    client,
    `select extversion as version from pg_extension where extname = 'citus'`,
  )
  if (!citus)
    throw new StartupError(
      'this database is a plain PostgreSQL: install Citus on its server, run "create extension citus" in it, and add the other nodes (OPERATIONS.md, "More than one machine")',
    )
  if (Number.parseInt(citus.version, 10) < oldestCitus)
    throw new StartupError(
      `Citus ${citus.version} is too old: upgrade it to version ${oldestCitus} or later`,
    )
}

async function rejectFewNodes(client: pg.ClientBase): Promise<void> {
  const nodes = await listNodes(client)
  if (!nodes.some(({ is_coordinator }) => is_coordinator))
    throw new StartupError(
      `the other nodes cannot reach this one: run "select citus_set_coordinator_host('<its host name>', <its port>)"`,
    )
  if (!nodes.some(({ holds_rows }) => holds_rows))
    throw new StartupError(
      `no node takes rows: add one with "select citus_add_node('<its host name>', <its port>)"`,
    )
}

export interface Node {
  name: string
  is_coordinator: boolean
  /** Whether accounts may be put there. */
  holds_rows: boolean
}

const listNodes = (client: pg.ClientBase): Promise<Node[]> =>
  select(
    client,
    `select format('%s:%s', nodename, nodeport) as name, groupid = 0 as is_coordinator, shouldhaveshards as holds_rows
     from pg_dist_node where noderole = 'primary' and isactive order by groupid`,
  )

async function listForced(client: pg.ClientBase): Promise<string[]> {
  const rows = await select<{ name: string }>(
    client,
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relforcerowsecurity order by 1`,
  )
  return rows.map(({ name }) => name)
}

/** The tables that are not distributed yet, in the order of the lists above. */
async function listLocal(client: pg.ClientBase): Promise<string[]> {
  const rows = await select<{ name: string }>(
    client,
    'select logicalrelid::regclass::text as name from pg_dist_partition',
  )
  const done = new Set(rows.map(({ name }) => name))
  return [...referenceTables, ...distributedTables].filter((table) => !done.has(table))
}

async function select<Row>(client: pg.ClientBase, text: string): Promise<Row[]> {
  return (await client.query(text)).rows as Row[]
}
