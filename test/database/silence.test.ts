import net from 'node:net'
import { sql } from 'kysely'
import pg from 'pg'
import t from 'tap'
import { isAtWork } from '../../src/database/connection-setup.ts'
import { openDatabase, type PoolOptions } from '../../src/database/pool.ts'
import { cloneDatabase } from '../helpers/database.ts'

const options: PoolOptions = {
  name: 'silence',
  connectionsMax: 2,
  client: pg.Client,
  onError: () => undefined,
  acquireTimeoutMs: 5000,
  lockTimeoutMs: 1000,
  statementTimeoutMs: 1000,
}

t.test('a server that falls silent is given up, and the statement ends there', async (t) => {
  const database = await cloneDatabase()
  t.teardown(() => database.drop())
  const proxy = await openProxy(database.url)
  const db = openDatabase(proxy.url, options)
  await sql`select 1`.execute(db)
  const failing = sql`select pg_sleep(100)`.execute(db)
  proxy.silence()
  await t.rejects(failing, /silent|timeout|terminated/)
  proxy.speak()
  const { rows } = await sql<{ one: number }>`select 1 as one`.execute(db)
  t.strictSame(rows, [{ one: 1 }], 'the next one gets another connection')
  await untilNoneRuns(database.url)
  await db.destroy()
  await proxy.close()
})

t.test('a server that falls silent before a connection is ready is given up, too', async (t) => {
  const database = await cloneDatabase()
  t.teardown(() => database.drop())
  const proxy = await openProxy(database.url)
  const anHour = 3_600_000
  const db = openDatabase(proxy.url, { ...options, statementTimeoutMs: anHour })
  proxy.silenceAt('client_connection_check_interval')
  await t.rejects(sql`select 1`.execute(db), /silent|timeout|terminated/)
  proxy.speak()
  const { rows } = await sql<{ one: number }>`select 1 as one`.execute(db)
  t.strictSame(rows, [{ one: 1 }], 'the next one gets another connection')
  await db.destroy()
  await proxy.close()
})

t.test(
  'a statement is given up long before its limit when nobody works on it, and not while somebody does',
  async (t) => {
    const database = await cloneDatabase()
    t.teardown(() => database.drop())
    const anHour = 3_600_000
    const open = async (statementTimeoutMs: number) => {
      const proxy = await openProxy(database.url)
      const db = openDatabase(proxy.url, { ...options, statementTimeoutMs })
      t.teardown(async () => {
        await db.destroy()
        await proxy.close()
      })
      await sql`select 1`.execute(db)
      return { proxy, db }
    }
    const [away, deaf, working] = [await open(30_000), await open(anHour), await open(anHour)]
    const sleep = (db: typeof away.db) => sql`select pg_sleep(8)`.execute(db)
    const [ofAway, ofWorking] = [sleep(away.db), sleep(working.db)]
    away.proxy.silence()
    deaf.proxy.forget()
    const [first, second, third] = await Promise.allSettled([ofAway, sleep(deaf.db), ofWorking])
    t.match(first, { status: 'rejected', reason: /silent/ }, 'nobody is reached')
    t.match(second, { status: 'rejected', reason: /silent/ }, 'the server was not told')
    t.match(third, { status: 'fulfilled' })
  },
)

t.test(
  'a server that refuses to say whether it works is there, and one that is not reached says nothing',
  async (t) => {
    const database = await cloneDatabase()
    t.teardown(() => database.drop())
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    const [{ pid }] = (await client.query('select pg_backend_pid() as pid')).rows
    const working = client.query('select pg_sleep(0.5)')
    t.equal(await isAtWork(database.url, pid), true)
    await working
    await client.end()
    t.equal(await isAtWork(database.url, 0), false, 'there is no such process')
    const absent = new URL(database.url)
    absent.pathname = '/absent'
    t.equal(await isAtWork(absent.toString(), 0), true, 'refused')
    t.equal(await isAtWork('postgresql://user@127.0.0.1:1/x', 0), undefined, 'not reached')
  },
)

t.test('a transaction may be busy elsewhere, and a connection idle, for longer', async (t) => {
  const database = await cloneDatabase()
  t.teardown(() => database.drop())
  const errors: Error[] = []
  const onError = (error: Error) => errors.push(error)
  const db = openDatabase(database.url, { ...options, onError, statementTimeoutMs: 1000 })
  const pid = sql<{ pid: number }>`select pg_backend_pid() as pid`
  const { rows: before } = await pid.execute(db)
  await db.transaction().execute(async (trx) => {
    await sql`select 1`.execute(trx)
    await new Promise((resolve) => setTimeout(resolve, longerThanGuarded))
    await sql`select 1`.execute(trx)
  })
  await new Promise((resolve) => setTimeout(resolve, longerThanGuarded))
  t.strictSame((await pid.execute(db)).rows, before, 'it is still the same connection')
  await db.destroy()
  t.strictSame(errors, [])
})

const longerThanGuarded = 3300

t.test(
  'a connection that was idle for a while is given up, too, when it falls silent',
  async (t) => {
    const database = await cloneDatabase()
    t.teardown(() => database.drop())
    const proxy = await openProxy(database.url)
    const db = openDatabase(proxy.url, options)
    const pid = sql<{ pid: number }>`select pg_backend_pid() as pid`
    const { rows: before } = await pid.execute(db)
    await new Promise((resolve) => setTimeout(resolve, longerThanGuarded))
    t.strictSame((await pid.execute(db)).rows, before, 'it is still the same connection')
    proxy.silence()
    await t.rejects(sql`select 1`.execute(db), /silent|timeout|terminated/)
    await db.destroy()
    await proxy.close()
  },
)

/** Waits until the server has ended what the client gave up. */
async function untilNoneRuns(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  for (;;) {
    const { rows } = await client.query(
      "select from pg_stat_activity where datname = current_database() and query like '%pg_sleep(100)' and state = 'active'",
    )
    if (rows.length === 0) break
  }
  await client.end()
}

/** Passes bytes on until it is told to be silent: then the connections stay open and nothing arrives. */
async function openProxy(target: string) {
  const { hostname, port, searchParams } = new URL(target)
  let isSilent = false
  let forgotten = new Set<net.Socket>()
  let lastWord: string | undefined
  const sockets = new Set<net.Socket>()
  const server = net.createServer((client) => {
    const host = searchParams.get('host')
    const upstream = host
      ? net.connect(`${host}/.s.PGSQL.${port || 5432}`)
      : net.connect(Number(port || 5432), hostname)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('data', (chunk: Buffer) => {
        if (lastWord && chunk.includes(lastWord)) isSilent = true
        if (!isSilent && !forgotten.has(from)) to.write(chunk)
      })
      from.on('error', () => undefined).on('close', () => to.destroy())
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(target)
  url.searchParams.delete('host')
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as net.AddressInfo).port)
  return {
    url: url.toString(),
    silence: () => {
      isSilent = true
    },
    /** The connections that are open now, and no others. */
    forget: () => {
      forgotten = new Set(sockets)
    },
    /** From when this is said. */
    silenceAt: (word: string) => {
      lastWord = word
    },
    speak: () => {
      isSilent = false
      lastWord = undefined
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
