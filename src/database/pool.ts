import { Kysely, type LogEvent, PostgresDialect, type Transaction } from 'kysely'
import pg from 'pg'
import type { DB } from '../../generated/database.d.ts'
import { preparePooled, releasingReadOnly, withSessionSettings } from './connection-setup.ts'
import { ConnectionFailed } from './errors.ts'

/** PostgreSQL waits twice for a contended row, for its place in line and for the row: 2.5 seconds in all. */
export const requestLockTimeoutMs = 1250

/** The role that requests and jobs run as: neither owner nor superuser, so that row-level security binds it. */
export const applicationRole = 'pricewell_app'

export type Database = Kysely<DB>
export type Trx = Transaction<DB>

export interface PoolOptions {
  /** Only reads are sent to this pool, so that a server that accepts no writes can serve it. */
  isReplica?: boolean
  /** How long a transaction may be idle; 10 seconds by default. */
  idleTimeoutMs?: number
  /** Shown in pg_stat_activity. */
  name: string
  connectionsMax: number
  client: typeof pg.Client
  acquireTimeoutMs: number
  statementTimeoutMs: number
  /**
   * After this time without a response, as when the network is silent, a statement fails and its connection is closed.
   * Left out where statements may take longer: there TCP keepalive notices.
   */
  queryTimeoutMs?: number | undefined
  lockTimeoutMs: number
  /** Called when an idle connection breaks; without a listener the process would end. */
  onError: (error: Error) => void
  /** Called after each statement, to trace it. */
  onStatement?: ((done: StatementDone) => void) | undefined
}

/** A statement that has ended. Its text holds no values. */
export interface StatementDone {
  text: string
  ms: number
  error?: unknown
}

/** How many connections of a pool are in use, and how many callers wait for one. */
export interface PoolUse {
  inUse: number
  max: number
  waiting: number
}

interface OpenPool {
  pool: pg.Pool
  connect: () => Promise<pg.PoolClient>
  busy: Set<pg.PoolClient>
  lockTimeoutMs: number
  onStatement: PoolOptions['onStatement']
}

const pools = new WeakMap<Database, OpenPool>()

function poolOf(db: Database): OpenPool {
  const open = pools.get(db)
  if (!open) throw new Error('not a database of openDatabase')
  return open
}

/** Takes a connection from the pool; the caller releases it. Throws ConnectionFailed. */
export const takeConnection = (db: Database): Promise<pg.PoolClient> => poolOf(db).connect()

/** How many milliseconds a statement of this database waits for a lock. */
export const lockTimeoutOf = (db: Database): number => poolOf(db).lockTimeoutMs

/** Reports a statement that did not go through Kysely, which reports the others. */
export function reportStatement(db: Database, done: StatementDone): void {
  poolOf(db).onStatement?.(done)
}

/** How busy the connections of a database are. */
export function poolUse(db: Database): PoolUse {
  const { totalCount, idleCount, waitingCount, options } = poolOf(db).pool
  return { inUse: totalCount - idleCount, max: options.max, waiting: waitingCount }
}

/** Closes all connections. Statements on busy ones fail here, and their transactions roll back in the server. */
export async function endDatabase(db: Database): Promise<void> {
  const { pool, busy } = poolOf(db)
  const destroyed = db.destroy()
  for (const client of busy) void (client as pg.Client).end()
  await destroyed
  // Kysely ends a pool only if it has used it.
  if (!pool.ending) await pool.end()
}

/** Opens a pool whose connections run as the application role and within time limits. `url` is a DatabaseServer's. */
export function openDatabase(url: string, options: PoolOptions): Database {
  const pool = new pg.Pool({
    connectionString: withSessionSettings(url, {
      role: applicationRole,
      // Data is cached or on flash: the planner must not read a whole table to save random reads.
      random_page_cost: 1.1,
      // The planner assumes that a list just loaded has one row, and would compare each key with each materialized row.
      enable_material: 'off',
      // Compiling a large statement takes longer than its rows: a rule for 300,000 rows 25 seconds in place of 12.
      jit: 'off',
      // A distributed database passes `set local` on to its shards, whose policies need it; others ignore this setting.
      'citus.propagate_set_commands': 'local',
      // A node that has vanished is noticed after one second instead of thirty.
      'citus.node_connection_timeout': 1000,
      statement_timeout: options.statementTimeoutMs,
      lock_timeout: options.lockTimeoutMs,
      // A process that is paused in a transaction loses its locks before its jobs are taken up elsewhere.
      idle_in_transaction_session_timeout: options.idleTimeoutMs ?? 10_000,
    }),
    application_name: `pricewell ${options.name}`,
    max: options.connectionsMax,
    Client: options.client,
    connectionTimeoutMillis: options.acquireTimeoutMs,
    query_timeout: options.queryTimeoutMs,
    // 10 probes follow, one a second: a waiting connection is closed 20 s after the network falls silent.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: { getTypeParser },
    onConnect: (client) => preparePooled(client, options.acquireTimeoutMs),
  })
  const busy = new Set<pg.PoolClient>()
  pool
    .on('error', options.onError)
    .on('acquire', (client) => busy.add(client))
    .on('release', (_, client) => busy.delete(client))
  const connect = connecting(pool, options)
  const kyselyPool = { Client: pg.Client, options: pool.options, connect, end: () => pool.end() }
  const db = new Kysely<DB>({
    dialect: new PostgresDialect({ pool: kyselyPool }),
    ...(options.onStatement && { log: reporting(options.onStatement) }),
  })
  const { lockTimeoutMs, onStatement } = options
  pools.set(db, { pool, connect, busy, lockTimeoutMs, onStatement })
  return db
}

/** Opens connections of a pool. Throws ConnectionFailed: PostgreSQL has no SQLSTATE for that. */
function connecting(
  pool: pg.Pool,
  { isReplica }: Pick<PoolOptions, 'isReplica'>,
): () => Promise<pg.PoolClient> {
  return async () => {
    try {
      const client = await pool.connect()
      return isReplica ? client : releasingReadOnly(client)
    } catch (error) {
      throw new ConnectionFailed(error)
    }
  }
}

function reporting(onStatement: (done: StatementDone) => void): (event: LogEvent) => void {
  return ({ query, queryDurationMillis: ms, ...event }) =>
    onStatement({ text: query.sql, ms, ...('error' in event && { error: event.error }) })
}

/** By type OID: dates stay text (a Date could shift the day), ids and decimals become numbers. */
const parsers = new Map<number, (text: string) => unknown>([
  [pg.types.builtins.DATE, (text) => text],
  [pg.types.builtins.INT8, parseSafeInteger],
  [pg.types.builtins.NUMERIC, Number],
  [1016, parseArray(parseSafeInteger)],
  [1231, parseArray(Number)],
])

// biome-ignore lint/suspicious/noExplicitAny: the type that pg declares for parsers.
function getTypeParser(oid: number, format?: any): any {
  return (format !== 'binary' && parsers.get(oid)) || pg.types.getTypeParser(oid, format)
}

function parseSafeInteger(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value))
    throw new Error(`integer ${text} is too large for a JSON number`)
  return value
}

/** Parses bigint[] and numeric[] of one dimension, such as `{1,NULL,3}`. */
function parseArray(parse: (text: string) => number) {
  return (text: string) =>
    text === '{}'
      ? []
      : text
          .slice(1, -1)
          .split(',')
          .map((item) => (item === 'NULL' ? null : parse(item)))
}
