import pg from 'pg'
import { endSilence, inside, isAtWork, silence } from './silence.ts'

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
