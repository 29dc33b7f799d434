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
import { isInFailedTransaction, isOutdatedPlan } from './errors.ts'
import { type Database, reportStatement, takeConnection } from './pool.ts'

/** A SELECT that is compiled once. Each connection prepares it under its name. */
export interface AccountSelect {
  name: string
  text: string
}

/** A row as PostgreSQL writes it: a text for each column. */
export type TextRow = readonly (string | null)[]

type Value = string | number

/** Only compiles. */
const compiler = new Kysely<unknown>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
})

/** The SELECT of a template that has `sql.raw('$1')` and so on where its values go. */
export function accountSelect(name: string, template: RawBuilder<unknown>): AccountSelect {
  const { sql: text }: CompiledQuery = template.compile(compiler)
  return { name, text }
}

const attemptsMax = 3

/**
 * Runs a SELECT that sees only the account's rows, in one round trip; a transaction takes as long as reading a price. Tries
 * again on another connection if a transaction before it had failed, or a migration has changed the types of the answer.
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

/** A connection whose query fails is closed: its transaction is open, and which statements it has prepared is unknown. */
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

/** The names that a connection has prepared. */
const prepared = new WeakMap<Connection, Set<string>>()

/**
 * Sends `begin`, the account, the SELECT and `commit` with one Sync, without asking for the types of the answer: one
 * write, one wake-up of PostgreSQL, one answer. `set_config` in place of `begin` and `set local` would be a tenth faster,
 * but a distributed database passes only `set local` on.
 */
class SelectQuery extends pg.Query {
  readonly #statements: { statement: AccountSelect; values: readonly Value[] }[]
  readonly #rows: TextRow[] = []
  declare callback: Settle

  constructor(account: number, select: AccountSelect, values: readonly Value[], settle: Settle) {
    super(select.text, [...values])
    this.callback = settle
    this.#statements = [
      { statement: begin, values: [] },
      { statement: { name: '', text: `set local app.account = '${account}'` }, values: [] },
      { statement: select, values },
      { statement: commit, values: [] },
    ]
  }

  override submit = (connection: Connection) => {
    const names = prepared.get(connection) ?? new Set()
    prepared.set(connection, names)
    connection.stream.cork()
    for (const { statement, values } of this.#statements) {
      const { name, text } = statement
      if (!names.has(name)) connection.parse({ name, text, types: [] }, true)
      if (name !== '') names.add(name)
      connection.bind({ statement: name, values: values.map(String) }, true)
      connection.execute({ portal: '' } as never, true)
    }
    connection.sync()
    connection.stream.uncork()
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
