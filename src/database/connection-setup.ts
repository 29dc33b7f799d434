import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

/** How much later than the server's own time limit the connection itself is taken for dead. */
const graceMs = 2000
/** While a statement runs, the server looks this often whether its client is still there. */
const serverChecksEveryMs = 1000
/**
 * The limits of a pool are for statements: a file of a job is one transaction of many, and would never be loaded. Asked
 * for by name, because servers before PostgreSQL 17 refuse a connection that sets it.
 */
const withoutTransactionTimeout = `
  do $$ begin
    if current_setting('transaction_timeout', true) <> '0' then set transaction_timeout = 0; end if;
  end $$`

/**
 * Runs what makes a new connection ready. One that falls silent meanwhile is closed after the time in which it must open:
 * nobody else would give it up, and a statement may take an hour.
 */
export async function readyInTime(
  client: pg.ClientBase,
  timeoutMs: number,
  makeReady: () => Promise<void>,
): Promise<void> {
  const timer = setTimeout(() => inside(client).connection.stream.destroy(silence()), timeoutMs)
  await makeReady().finally(() => clearTimeout(timer))
}

/**
 * Makes a new connection, of the server at `url`, safe to lose. One that breaks while a transaction holds it fails the
 * transaction's next statement; without a listener it would end the process too. One on which nothing arrives is closed
 * when the server does not work on its statement, or for longer than it may. One whose process has died does not work on
 * in the server.
 */
export async function guardConnection(
  client: pg.ClientBase,
  url: string,
  statementTimeoutMs: number,
): Promise<void> {
  await watchConnection(client)
  await setWherePossible(client, `set client_connection_check_interval = ${serverChecksEveryMs}`)
  const { processID } = inside(client)
  endSilence(client, statementTimeoutMs + graceMs, () => isAtWork(url, processID))
}

/** Has a connection that breaks in a transaction fail its statements and not the process; they may take their time. */
export async function watchConnection(client: pg.ClientBase): Promise<void> {
  client.on('error', () => undefined)
  await setWherePossible(client, withoutTransactionTimeout)
}

/** A setting of its own statement: servers on systems that cannot look refuse one, and do without. */
async function setWherePossible(client: pg.ClientBase, statement: string): Promise<void> {
  try {
    await client.query(statement)
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error
  }
}

/** How long a statement says nothing until its server is asked, each time, whether it works on it. */
const lookMs = 5000
/** How long the server may take to answer that. */
const answerMs = 2000
/** Nor is what takes long given up at once when it does not answer: the more was done, the more is lost. */
const patienceMaxMs = 15_000
const patienceShare = 0.05
/** Of failures to ask: the server may be well. */
const ownFailures = new Set(['EMFILE', 'ENFILE', 'ENOTFOUND', 'EAI_AGAIN'])

/** What pg keeps to itself. */
const inside = (client: pg.ClientBase) =>
  client as unknown as {
    connection: { stream: Socket }
    readyForQuery: boolean
    processID: number
  }

/** Why a connection is closed on which nothing arrives. */
const silence = () => Object.assign(new Error('the database is silent'), { code: 'ETIMEDOUT' })

/** Whether the server works on a statement; undefined: it does not answer. */
type Look = () => Promise<boolean | undefined>

/**
 * Closes a connection that waits for an answer and on which nothing arrives, since the network swallows it: after
 * `limitMs`, once the server says that it does not work on the answer, or when it says nothing for a part of that time.
 */
function endSilence(client: pg.ClientBase, limitMs: number, look: Look): void {
  const { stream } = inside(client).connection
  const waitMs = Math.min(lookMs, limitMs)
  const patienceMs = Math.min(limitMs * patienceShare, patienceMaxMs)
  stream.setTimeout(waitMs)
  // Each time, as a callback of `setTimeout` is not: any connection is idle for a while before it is lost.
  stream.on('timeout', async () => {
    const passed = bytesPassed(stream)
    const isSilent = () =>
      !stream.destroyed && !inside(client).readyForQuery && bytesPassed(stream) === passed
    const until = performance.now() + limitMs - waitMs
    let answeredAt = performance.now()
    while (isSilent()) {
      const isAtWork = performance.now() < until && (await look())
      if (isAtWork) answeredAt = performance.now()
      const isLost = isAtWork === false || performance.now() - answeredAt >= patienceMs
      if (isLost && isSilent()) stream.destroy(silence())
      const restMs = Math.max(Math.min(waitMs, until - performance.now()), 0)
      await sleep(restMs, undefined, { ref: false })
    }
  })
}

const bytesPassed = ({ bytesRead, bytesWritten }: Socket) => bytesRead + bytesWritten

/**
 * Asks, on a connection of its own, whether the server process works on a statement, or has ended one just now; undefined
 * when nobody answers.
 */
export async function isAtWork(url: string, processId: number): Promise<boolean | undefined> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'pricewell silence',
    connectionTimeoutMillis: answerMs,
    query_timeout: answerMs,
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rowCount } = await client.query(
      `select from pg_stat_activity where pid = $1
       and (coalesce(state, '') not like 'idle%' or state_change > clock_timestamp() - interval '2 seconds')`,
      [processId],
    )
    return rowCount === 1
  } catch (error) {
    return isAnswer(error) || undefined
  } finally {
    inside(client).connection.stream.destroy()
  }
}

/** A server that refuses the connection, as one that has too many, is there; one that starts up has ended all its work. */
function isAnswer(error: unknown): boolean {
  const code = (error as { code?: string }).code ?? ''
  return error instanceof pg.DatabaseError ? code !== '57P03' : ownFailures.has(code)
}

/**
 * Set for each connection, because they change what statements read, write or may do, and a server, a database or a role
 * may have others (`alter database ... set`). What only makes statements slower, faster or less durable stays its own.
 */
export const sessionSettings = {
  timezone: 'UTC',
  datestyle: 'ISO, YMD',
  array_nulls: 'on',
  standard_conforming_strings: 'on',
  transform_null_equals: 'off',
  row_security: 'on',
  // Each statement of a job looks at what others have done meanwhile, and does not fail for it.
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  // The migrations grant rights on this schema only.
  search_path: 'public',
  // Migrations take their time, and pools have limits of their own.
  statement_timeout: 0,
  lock_timeout: 0,
  idle_in_transaction_session_timeout: 0,
  idle_session_timeout: 0,
}

/** The URL of a database whose settings are as the service needs them, whatever those of its server are. */
export function withOwnSettings(url: string): string {
  return withSessionSettings(url, sessionSettings)
}

/** The URL with `-c name=value` for each setting, beside the options it has already. */
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

/** Options are parted by white space. */
const escaped = (value: string | number) => String(value).replace(/[\\\s]/g, '\\$&')

/** What listens may never answer: the start gives a connection up after this time, and says so. */
export const connectionTimeoutMillis = 5000

const readOnly = new WeakSet<pg.ClientBase>()

/** Whether a server that has taken a connection takes writes on it: a standby does not, nor a database that may not grow. */
const onlyReads = `
  select current_setting('in_hot_standby') = 'on' or current_setting('default_transaction_read_only') = 'on' as is_so`

/** Finds out of a new connection whether it leads to where nothing can be written. */
export async function noteReadOnly(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query(onlyReads)
  if (rows[0].is_so) readOnly.add(client)
}

/**
 * Closes such a connection after its use, whatever it was used for: it stays as it is, while the address may lead to the
 * primary by now and the database may take writes again. Kept, it would fail every write and answer old data.
 */
export function leavingReadOnly(client: pg.PoolClient): pg.PoolClient {
  const { release } = client
  client.release = (error) => release(error || readOnly.has(client))
  return client
}
