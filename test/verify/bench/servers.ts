import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { createAccount } from '../../../src/accounts/create-account.ts'
import { CopyingClient } from '../../../src/database/copy.ts'
import { databaseUrl } from '../../../src/database/server.ts'
import { query } from '../../helpers/database.ts'
import type { Command } from '../../helpers/leave-nothing.ts'
import { childEnvironment } from '../../helpers/process.ts'
import { type Client, openClient, prepareWith } from './client.ts'

/** A server in its own process, and a connection to its database. */
export interface Server {
  /** The owner's connection. */
  sql: pg.Client
  /** The bytes of a request with the token. */
  request(method: string, path: string, body?: string): Buffer
  /** Posts JSON text and waits for the last byte of the answer. */
  post(path: string, body: string): Promise<string>
  /** Posts and, if the answer is a job, polls it every 5 ms until it has ended. */
  postToEnd(path: string, body: string): Promise<void>
  /** Another connection. */
  connect(): Client
  pid(): number
  /** A new process. */
  restart(): Promise<void>
}

/** The service, with the id of its account. */
export interface Service extends Server {
  account: number
}

/** The three sides, each with a database of its own in one PostgreSQL. */
export interface Bench {
  ours: Service
  naive: Server
  /** A bare connection to a database with the tables of the naive build. */
  floor: pg.Client
  /** Another bare connection to it. */
  connectFloor(): Promise<pg.Client>
  /** Another service on a new database of this name. */
  startBeside(name: string): Promise<Service>
}

const root = join(import.meta.dirname, '../../..')
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const tables = readFileSync(join(import.meta.dirname, 'naive/tables.sql'), 'utf8')

/** Starts the three sides on a PostgreSQL; its databases of an earlier run are dropped. */
export async function startBench(command: Command, serverUrl: string): Promise<Bench> {
  const createDatabase = async (name: string) => {
    const drop = () => query(serverUrl, `drop database if exists ${name} with (force)`)
    await drop()
    await query(serverUrl, `create database ${name}`)
    command.teardown(drop)
    return databaseUrl(serverUrl, name)
  }
  const floorUrl = await createDatabase('bench_floor')
  const naiveUrl = await createDatabase('bench_naive')
  await query(floorUrl, tables)
  await query(naiveUrl, tables)
  const connectFloor = () => connect(command, floorUrl)
  return {
    ours: await startService(command, await createDatabase('bench_ours')),
    naive: await startServer(command, naiveUrl, 'exec node test/verify/bench/naive/server.js'),
    floor: await connectFloor(),
    connectFloor,
    startBeside: async (name) => startService(command, await createDatabase(`bench_${name}`)),
  }
}

/** Starts the service as `npm start` does, and logs in to a new account. */
async function startService(command: Command, url: string): Promise<Service> {
  let token = ''
  const server = await startServer(command, url, scripts.start, () => token)
  const { email, password } = await createAccount(url, {
    account: 'bench',
    email: 'bench@example.com',
  })
  const answer = await server.post('/login/', JSON.stringify({ email, password }))
  token = /"token":"([^"]+)"/.exec(answer)?.[1] ?? ''
  const { rows } = await server.sql.query('select id from accounts')
  return { ...server, account: Number(rows[0].id) }
}

async function startServer(
  command: Command,
  url: string,
  script: string,
  token = () => '',
): Promise<Server> {
  const env = childEnvironment({
    DATABASE_URL: url,
    JWT_SECRET: randomBytes(32).toString('hex'),
    PORT: '0',
    LOG_LEVEL: 'error',
  })
  const start = () =>
    spawn('sh', ['-c', script], { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] })
  let child = start()
  command.teardown(() => stop(child))
  let address = await addressOf(child)
  let client = openClient(address)
  const request = prepareWith(token)
  const post = (path: string, body: string) => client.send(request('POST', path, body))
  return {
    sql: await connect(command, url),
    request,
    post,
    postToEnd: async (path, body) => {
      const job = /\r\nlocation: (\S*\/jobs\/\S+)/i.exec(await post(path, body))?.[1]
      while (job && isRunning(await client.send(request('GET', job)))) await sleep(5)
    },
    connect: () => openClient(address),
    pid: () => child.pid as number,
    restart: async () => {
      client.close()
      await stop(child)
      child = start()
      address = await addressOf(child)
      client = openClient(address)
    },
  }
}

function isRunning(answer: string): boolean {
  const status = /"status":"(\w+)"/.exec(answer)?.[1]
  if (status !== 'progress' && status !== 'done') throw new Error(answer.slice(0, 2000))
  return status === 'progress'
}

async function connect(command: Command, url: string): Promise<pg.Client> {
  const client = new CopyingClient({ connectionString: url })
  // The bench stops PostgreSQL before it ends.
  client.on('error', () => undefined)
  await client.connect()
  command.teardown(() => client.end())
  return client
}

async function stop(child: ChildProcess): Promise<void> {
  // Ctrl-C may have ended it already.
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

/** The address that a server prints when it listens. */
async function addressOf(child: ChildProcess): Promise<string> {
  let output = ''
  for await (const chunk of child.stdout?.iterator({ destroyOnReturn: false }) ?? []) {
    output += chunk
    const [, url] = /listens on (http\S+)/.exec(output) ?? []
    if (url) return url
  }
  throw new Error(`the server did not start: ${output}`)
}
