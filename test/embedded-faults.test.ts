import { once } from 'node:events'
import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import {
  caller,
  firstUser,
  freshDataDir,
  isAlive,
  logInFirst,
  postmasterPid,
  runFile,
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

t.test(
  'a service whose PostgreSQL is killed ends plainly, and the next start has lost nothing',
  async (t) => {
    const settings = { DATA_DIR: freshDataDir(t) }
    const service = await startProcess(t, settings)
    const user = await firstUser(service)
    const call = await logInFirst(service)
    t.equal((await call('POST', salesPath, sales)).status, 201)
    process.kill(postmasterPid(settings.DATA_DIR) as number, 'SIGKILL')
    t.equal(await service.exited, 1)
    t.match(service.stderr(), /PostgreSQL has ended.*Start the service again/)
    const again = await startProcess(t, settings)
    const logIn = await caller(() => again.url)('POST', '/login/', user)
    const stored = await caller(() => again.url, logIn.body.token)('GET', '/api/v1/sales_history/')
    t.equal(stored.body.count, sales.length)
    t.equal(await again.stop(), 0)
  },
)

t.test(
  'a server that a power failure has ended is started, although another process has its id now',
  async (t) => {
    const settings = { DATA_DIR: freshDataDir(t) }
    const service = await startProcess(t, settings)
    const user = await firstUser(service)
    await service.kill()
    process.kill(postmasterPid(settings.DATA_DIR) as number, 'SIGKILL')
    const file = join(settings.DATA_DIR, 'postgres', 'postmaster.pid')
    writeFileSync(file, readFileSync(file, 'utf8').replace(/^\d+/, '1'))
    const again = await startProcess(t, settings)
    t.equal((await caller(() => again.url)('POST', '/login/', user)).status, 200)
    t.equal(await again.stop(), 0)
  },
)

t.test(
  'a process that has run out of file descriptors goes on when there are some again',
  async (t) => {
    const settings = { DATA_DIR: freshDataDir(t) }
    const command = ['bash', '-c', `ulimit -n 128; exec ${startCommand.join(' ')}`] as const
    const service = await startProcess(t, settings, { command })
    await firstUser(service)
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

t.test('what the shell says of another PostgreSQL is not taken for the embedded one', async (t) => {
  const shell = {
    PGPORT: '5433',
    PGSSLMODE: 'require',
    PGOPTIONS: '-c default_transaction_read_only=on',
  }
  const service = await startProcess(t, { DATA_DIR: freshDataDir(t), ...shell })
  t.equal((await (await logInFirst(service))('GET', '/api/v1/price_list/')).status, 200)
  t.equal(await service.stop(), 0)
})

t.test('a token secret that was not written to its end is made anew', async (t) => {
  const settings = { DATA_DIR: freshDataDir(t) }
  const first = await startProcess(t, settings)
  const user = await firstUser(first)
  t.equal(await first.stop(), 0)
  truncateSync(join(settings.DATA_DIR, 'jwt-secret'))
  const again = await startProcess(t, settings)
  t.equal((await caller(() => again.url)('POST', '/login/', user)).status, 200)
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
  const settings = { DATA_DIR: freshDataDir(t), PORT: String(port) }
  const { code, stderr } = await runFile('src/server.ts', [], settings)
  t.equal(code, 1)
  t.match(stderr, /EADDRINUSE/)
  t.equal(postmasterPid(settings.DATA_DIR), undefined, 'nothing is left running')
})
