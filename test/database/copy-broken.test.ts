import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { CopyingClient, CopySource } from '../../src/database/copy.ts'
import { cloneDatabase } from '../helpers/database.ts'
import { select } from '../helpers/sql.ts'

const { url, drop } = await cloneDatabase()
t.teardown(drop)
const line = `${'x'.repeat(60_000)}\n`

/** Lines, with the session terminated after the first of them. */
async function* broken(pid: number, lines: number): AsyncIterable<string> {
  yield line
  await select(url, 'select pg_terminate_backend($1, 5000)', [pid])
  for (let count = 0; count < lines; count++) {
    yield line
    await sleep(1)
  }
}

/** Terminates a session in the middle of a COPY. */
async function copyBroken(lines: number): Promise<unknown> {
  const client = new CopyingClient({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  const [{ pid }] = (await client.query('select pg_backend_pid() as pid')).rows
  await client.query('create temporary table input (text text)')
  const source = new CopySource(broken(pid, lines))
  return client.query('copy pg_temp.input from stdin $1', [source] as never)
}

t.test('a connection that breaks in the middle of a COPY fails it, and nothing else', async (t) => {
  for (const lines of [0, 1, 40]) await t.rejects(copyBroken(lines), { code: '57P01' }, `${lines}`)
})
