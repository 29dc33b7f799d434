import pg from 'pg'

/** A server that accepts connections may never respond: startup gives up after this time and says so. */
export const connectionTimeoutMillis = 5000

/**
 * Set on each connection, because they change what statements read, write or may do, and a server, a database or a role
 * may have other values (`alter database ... set`). Settings that only affect speed or durability are left alone.
 */
export const sessionSettings = {
  timezone: 'UTC',
  datestyle: 'ISO, YMD',
  array_nulls: 'on',
  standard_conforming_strings: 'on',
  transform_null_equals: 'off',
  row_security: 'on',
  // Each statement of a job must see what other transactions have committed, and not fail because of it.
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  // The migrations grant rights on this schema only.
  search_path: 'public',
  // Migrations may take long; pools set limits of their own.
  statement_timeout: 0,
  lock_timeout: 0,
  idle_in_transaction_session_timeout: 0,
  idle_session_timeout: 0,
}

/** Returns the URL with `sessionSettings`, which override the settings of the server. */
export function withOwnSettings(url: string): string {
  return withSessionSettings(url, sessionSettings)
}

/** Returns the URL with `-c name=value` for each setting, after any options that it has already. */
export function withSessionSettings(
  url: string,
  settings: Record<string, string | number>,
): string {
  const result = new URL(url)
  const flags = Object.entries(settings).map(([name, value]) => `-c ${name}=${escaped(value)}`)
  const given = result.searchParams.get('options')
  result.searchParams.set('options', [...(given ? [given] : []), ...flags].join(' '))
  return result.toString()
}

/** White space separates options. */
const escaped = (value: string | number) => String(value).replace(/[\\\s]/g, '\\$&')

/** Runs `work` on its own connection. If that breaks, its statements fail and the process keeps running. */
export async function onOneConnection<T>(
  url: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/**
 * A job loads a file in one long transaction, so only statements are limited. Set after connecting, because servers
 * before PostgreSQL 17 refuse a connection that names the setting.
 */
const withoutTransactionTimeout = `
  if current_setting('transaction_timeout', true) <> '0' then set transaction_timeout = 0; end if;`

/** Once a second the server checks whether a running statement's client is still there, if its system can tell. */
const withClientChecks = `
  begin set client_connection_check_interval = 1000; exception when others then null; end;`

/** A standby accepts no writes, nor does a database that was made read-only, perhaps because it may not grow. */
const findReadOnly = `
  select current_setting('in_hot_standby') = 'on' or current_setting('default_transaction_read_only') = 'on' as is_so`

/** Prepares a connection for migrations: if it breaks, its statements fail, not the process. */
export async function prepareConnection(client: pg.ClientBase): Promise<void> {
  client.on('error', () => undefined)
  await client.query(`do $$ begin ${withoutTransactionTimeout} end $$`)
}

const readOnly = new WeakSet<pg.ClientBase>()

/**
 * Prepares a connection of a pool within `timeoutMs`, and records whether the server accepts only reads. Without a
 * listener for errors, a connection that breaks in a transaction would end the process.
 */
export async function preparePooled(client: pg.ClientBase, timeoutMs: number): Promise<void> {
  client.on('error', () => undefined)
  const timer = setTimeout(() => void (client as pg.Client).end(), timeoutMs)
  const setUp = `do $$ begin ${withoutTransactionTimeout} ${withClientChecks} end $$`
  try {
    await client.query(setUp)
    const { rows } = await client.query(findReadOnly)
    if (rows[0].is_so) readOnly.add(client)
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Makes a read-only connection close after its use. By then the address may lead to the primary, or the database may
 * accept writes again: a connection that is kept would fail every write and return old data.
 */
export function releasingReadOnly(client: pg.PoolClient): pg.PoolClient {
  const { release } = client
  client.release = (error) => release(error || readOnly.has(client))
  return client
}
