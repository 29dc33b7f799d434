import {
  type CompiledQuery,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type RawBuilder,
} from 'kysely'
import type { Connection, PoolClient } from 'pg'
import pg from 'pg'
import { serialize } from 'pg-protocol'
import { isInFailedTransaction, isOutdatedPlan } from './errors.ts'
import { type Database, reportStatement, takeConnection } from './pool.ts'

/** A SELECT that is compiled once. Each connection prepares it under its name. */
export interface AccountSelect {
  name: string
  text: string
}

/** A row as PostgreSQL writes it: text or null for each column. */
export type TextRow = readonly (string | null)[]

type Value = string | number

/** Compiles only; never connects. */
const compiler = new Kysely<unknown>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
})

/** Compiles a template that has `sql.raw('$1')` and so on in place of its values. */
export function accountSelect(name: string, template: RawBuilder<unknown>): AccountSelect {
  const { sql: text }: CompiledQuery = template.compile(compiler)
  return { name, text }
}

const attemptsMax = 3

/**
 * Runs a SELECT that sees only the account's rows, in one round trip: a transaction of its own takes as long as reading
 * a price. Retries on another connection if an earlier transaction on this connection had failed, or a migration has
 * changed the types of the result.
 */
export async function selectInAccount(
  db: Database,
  account: number,
  select: AccountSelect,
  values: readonly Value[],
): Promise<TextRow[]> {
  if (!Number.isSafeInteger(account)) throw new Error('account is not an integer')
  for (let attempt = 1; ; attempt++) {
    try {
      return await onConnection(db, select.text, (client, settle) =>
        client.query(new SelectQuery(account, select, values, settle)),
      )
    } catch (error) {
      const isRetried = isInFailedTransaction(error) || isOutdatedPlan(error)
      if (!isRetried || attempt === attemptsMax) throw error
    }
  }
}

/** Closes a connection whose query fails: its transaction is open, and its prepared statements are unknown. */
async function onConnection(
  db: Database,
  text: string,
  send: (client: PoolClient, settle: Settle) => void,
): Promise<TextRow[]> {
  const client = await takeConnection(db)
  const began = performance.now()
  let failure: unknown
  try {
    return await new Promise<TextRow[]>((resolve, reject) => {
      send(client, (error, rows) => (error ? reject(error) : resolve(rows)))
    })
  } catch (error) {
    failure = error
    throw error
  } finally {
    client.release(failure !== undefined)
    reportStatement(db, {
      text,
      ms: performance.now() - began,
      ...(failure !== undefined && { error: failure }),
    })
  }
}

type Settle = (error: Error | null, rows: TextRow[]) => void

const begin = { name: 'begin_read', text: 'begin read only' }
const commit = { name: 'commit', text: 'commit' }

const execute = serialize.execute()
const runOf = (statement: string) => Buffer.concat([serialize.bind({ statement }), execute])
/** The messages of the statements that never change. */
const run = { begin: runOf(begin.name), unnamed: runOf(''), commit: runOf(commit.name) }

/** The names of the statements that a connection has prepared. */
const prepared = new WeakMap<Connection, Set<string>>()

/**
 * Sends `begin`, the account, the SELECT and `commit` with one Sync, without requesting the types of the result: one
 * write, one wake-up of PostgreSQL, one response. `set_config` in place of `begin` and `set local` would be a tenth
 * faster, but a distributed database passes on only `set local`.
 */
class SelectQuery extends pg.Query {
  readonly #account: number
  readonly #select: AccountSelect
  readonly #values: readonly Value[]
  readonly #rows: TextRow[] = []
  declare callback: Settle

  constructor(account: number, select: AccountSelect, values: readonly Value[], settle: Settle) {
    super(select.text, [...values])
    this.callback = settle
    this.#account = account
    this.#select = select
    this.#values = values
  }

  /** Writes one buffer; pg would write each message separately. */
  override submit = (connection: Connection) => {
    const names = prepared.get(connection) ?? new Set()
    prepared.set(connection, names)
    const { name } = this.#select
    const values = this.#values.map(String)
    const messages = [
      ...[begin, commit, this.#select].filter((statement) => !names.has(statement.name)),
      { name: '', text: `set local app.account = '${this.#account}'` },
    ].map((statement) => serialize.parse(statement))
    messages.push(run.begin, run.unnamed, serialize.bind({ statement: name, values }), execute)
    messages.push(run.commit, serialize.sync())
    for (const statement of [begin, commit, this.#select]) names.add(statement.name)
    connection.stream.write(Buffer.concat(messages))
    return null
  }

  handleDataRow({ fields }: { fields: TextRow }): void {
    this.#rows.push(fields)
  }

  handleCommandComplete(): void {}

  handleError(error: Error): void {
    this.callback(error, [])
  }

  handleReadyForQuery(): void {
    this.callback(null, this.#rows)
  }
}
