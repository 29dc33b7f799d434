import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import {
  type Call,
  caller,
  firstUser,
  freshDataDir,
  isAlive,
  postmasterPid,
  runFile,
  type ServiceProcess,
  startCommand,
  startProcess,
} from './helpers/process.ts'

const salesPath = '/api/v1/sales_history/bulk_create_or_update'
const sales = Array.from({ length: 100 }, (_, index) => ({
  transaction_id: `T${index}`,
  code: 'C',
  extension: '',
  quantity: '1',
  revenue: '1',
}))

/** Made by the first start, used by those after it. */
const settings = { DATA_DIR: freshDataDir(t) }
let user = { email: '', password: '' }

async function logIn({ url }: ServiceProcess): Promise<Call> {
  const { status, body } = await caller(() => url)('POST', '/login/', user)
  t.equal(status, 200)
  return caller(() => url, body.token)
}

t.test('what the shell says of another PostgreSQL is not taken for the embedded one', async (t) => {
  const shell = {
    PGPORT: '5433',
    PGSSLMODE: 'require',
    PGOPTIONS: '-c default_transaction_read_only=on',
  }
  const service = await startProcess(t, { ...settings, ...shell })
  user = await firstUser(service)
  t.equal((await (await logIn(service))('GET', '/api/v1/price_list/')).status, 200)
  t.equal(await service.stop(), 0)
})

t.test(
  'a service whose PostgreSQL is killed ends plainly, and the next start has lost nothing',
  async (t) => {
    const service = await startProcess(t, settings)
    const call = await logIn(service)
    t.equal((await call('POST', salesPath, sales)).status, 201)
    process.kill(postmasterPid(settings.DATA_DIR) as number, 'SIGKILL')
    t.equal(await service.exited, 1)
    t.match(service.stderr(), /PostgreSQL has ended.*Start the service again/)
    const again = await startProcess(t, settings)
    const stored = await (await logIn(again))('GET', '/api/v1/sales_history/')
    t.equal(stored.body.count, sales.length)
    t.equal(await again.stop(), 0)
  },
)

t.test(
  'a server that a power failure has ended is started, although another process has its id now',
  async (t) => {
    const service = await startProcess(t, settings)
    await service.kill()
    process.kill(postmasterPid(settings.DATA_DIR) as number, 'SIGKILL')
    const file = join(settings.DATA_DIR, 'postgres', 'postmaster.pid')
    writeFileSync(file, readFileSync(file, 'utf8').replace(/^\d+/, '1'))
    const again = await startProcess(t, settings)
    await logIn(again)
    t.equal(await again.stop(), 0)
  },
)

t.test(
  'a process that has run out of file descriptors goes on when there are some again',
  async (t) => {
    const command = ['bash', '-c', `ulimit -n 128; exec ${startCommand.join(' ')}`] as const
    const service = await startProcess(t, settings, { command })
    const { hostname, port } = new URL(service.url)
    const sockets = Array.from({ length: 200 }, () =>
      connect(Number(port), hostname).on('error', () => undefined),
    )
    await sleep(3000)
    for (const socket of sockets) socket.destroy()
    t.ok(isAlive(service.pid))
    // A connection that comes before the service has seen those go is ended like them.
    const isReady = () => caller(() => service.url)('GET', '/health/ready').catch(() => undefined)
    while ((await isReady())?.status !== 200) await sleep(50)
    t.equal(await service.stop(), 0)
  },
)

t.test('a copy of a data folder whose PostgreSQL runs is refused, not led to it', async (t) => {
  const service = await startProcess(t, settings)
  const copy = join(freshDataDir(t, 'copy'), 'data')
  execFileSync('cp', ['-aL', settings.DATA_DIR, copy])
  const { code, stderr } = await runFile('src/server.ts', [], { DATA_DIR: copy, PORT: '0' })
  t.equal(code, 1)
  t.match(stderr, /is a copy of .*, made while PostgreSQL ran there: stop it \(process \d+\)/)
  t.equal(await service.stop(), 0)
})

t.test('a token secret that was not written to its end is made anew', async (t) => {
  truncateSync(join(settings.DATA_DIR, 'jwt-secret'))
  const again = await startProcess(t, settings)
  await logIn(again)
  t.equal(await again.stop(), 0)
  t.strictSame(readdirSync(settings.DATA_DIR).sort(), [
    'jwt-secret',
    'postgres',
    'postgres-password',
  ])
})

t.test('a port that is taken ends the start plainly, and PostgreSQL with it', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.teardown(() => other.close())
  const { port } = other.address() as AddressInfo
  const taken = { ...settings, PORT: String(port) }
  const { code, stderr } = await runFile('src/server.ts', [], taken)
  t.equal(code, 1)
  t.match(stderr, /EADDRINUSE/)
  t.equal(postmasterPid(settings.DATA_DIR), undefined, 'nothing is left running')
})
