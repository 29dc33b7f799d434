import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import {
  caller,
  childEnvironment,
  ends,
  firstAccount,
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
const sales = Array.from({ length: 20_000 }, (_, index) => ({
  transaction_id: `T${index}`,
  code: 'C',
  extension: '',
  quantity: '1',
  revenue: '1',
}))

/** Made by the first start, used by those after it. */
const settings = { DATA_DIR: freshDataDir(t) }
let user = { email: '', password: '' }

t.test(
  'the first start prints its address, the docs and the first account, once; SIGTERM ends it and its PostgreSQL',
  async (t) => {
    // Root's temporary files may be closed to the user of PostgreSQL.
    const TMPDIR = freshDataDir(t)
    chmodSync(TMPDIR, 0o700)
    const service = await startProcess(t, { ...settings, TMPDIR })
    const call = await logInFirst(service)
    t.match(service.stdout(), `Pricewell listens on ${service.url}\n`)
    t.match(service.stdout(), `${service.url}/docs\n`)
    t.equal((await call('GET', '/api/v1/price_list/')).status, 200, 'the account works')
    const docs = await fetch(`${service.url}/docs`)
    t.equal(docs.status, 200)
    t.match(await docs.text(), /swagger/i)
    user = await firstUser(service)
    const { password } = user
    const pid = postmasterPid(settings.DATA_DIR) as number
    t.ok(isAlive(pid), 'PostgreSQL runs')
    t.equal(await service.stop(), 0)
    t.ok(await ends(pid), 'PostgreSQL is stopped')
    t.notOk(existsSync(join(settings.DATA_DIR, 'postgres', 'postmaster.pid')), 'and cleanly')
    t.match(serverLog(settings.DATA_DIR), /database system is shut down/)
    t.equal(service.stdout().split(password).length, 2, 'the password is shown once')
    for (const [name, log] of Object.entries({
      service: service.stderr(),
      database: serverLog(settings.DATA_DIR),
    })) {
      t.notMatch(log, password, `the password is not in the log of the ${name}`)
      t.notMatch(log, /scrypt:|eyJ/, `no hash and no token is in the log of the ${name}`)
    }

    const again = await startProcess(t, settings)
    const { status, body } = await caller(() => again.url)('POST', '/login/', user)
    t.equal(status, 200)
    const answer = caller(() => again.url, body.token)('POST', salesPath, sales)
    await sleep(50)
    const [answered, code] = await Promise.all([answer, again.stop()])
    const expected = [201, sales.length, 0]
    t.strictSame(
      [answered.status, answered.body.length, code],
      expected,
      'what was under way when SIGTERM came is answered',
    )
    t.notOk(firstAccount(again.stdout()), 'a second start makes no second account')
    t.notMatch(again.stdout(), /password|e-mail/)
  },
)

t.test(
  'PostgreSQL survives the service, later processes attach to it, and the last one stops it',
  async (t) => {
    const killed = await startProcess(t, settings)
    const pid = postmasterPid(settings.DATA_DIR) as number
    await killed.kill()
    t.equal(postmasterPid(settings.DATA_DIR), pid, 'it runs on')
    const first = await startProcess(t, settings)
    const second = await startProcess(t, settings)
    t.equal(postmasterPid(settings.DATA_DIR), pid, 'the same server')
    const args = ['account', 'create', '--json', '--account', 'A', '--email', 'b@example.com']
    const created = await runFile('src/cli/main.ts', args, settings)
    t.equal(created.code, 0, created.stderr)
    const { email, password } = JSON.parse(created.stdout)
    t.ok(isAlive(pid), 'the command leaves it running')
    for (const { url } of [first, second])
      for (const login of [user, { email, password }])
        t.equal((await caller(() => url)('POST', '/login/', login)).status, 200)
    t.equal(await first.stop(), 0)
    t.ok(isAlive(pid), 'one user is left')
    t.equal((await caller(() => second.url)('GET', '/health/ready')).status, 200)
    t.equal(await second.stop(), 0)
    t.ok(await ends(pid))
  },
)

t.test('a signal ends the start, and PostgreSQL with it', async (t) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const [command, ...args] = startCommand
    const env = childEnvironment({ PORT: '0', ...settings })
    const child = spawn(command, args, { env, stdio: 'ignore' })
    while (postmasterPid(settings.DATA_DIR) === undefined) await sleep(5)
    child.kill(signal)
    const [code] = await once(child, 'exit')
    t.equal(code, 0, signal)
    t.equal(postmasterPid(settings.DATA_DIR), undefined, 'nothing is left running')
  }
})

t.test(
  'services that start first on the same data stay, and one tells of the account',
  async (t) => {
    const TMPDIR = freshDataDir(t)
    chmodSync(TMPDIR, 0o777)
    // The folder is named from where the service starts.
    const settings = { DATA_DIR: freshDataDir(t), TMPDIR: relative('.', TMPDIR) }
    const services = await Promise.all([1, 2, 3].map(() => startProcess(t, settings)))
    const told = () => services.filter(({ stdout }) => firstAccount(stdout()) !== undefined)
    while (told().length === 0) await sleep(20)
    for (const { url } of services)
      t.equal((await caller(() => url)('GET', '/health/ready')).status, 200)
    for (const service of services) t.equal(await service.stop(), 0)
    t.equal(told().length, 1)
    t.strictSame(readdirSync(TMPDIR), [])
  },
)

t.test('an account is created without a service, and PostgreSQL stops after it', async (t) => {
  const settings = { DATA_DIR: freshDataDir(t) }
  const args = ['account', 'create', '--json', '--account', 'A', '--email', 'a@example.com']
  const created = await runFile('src/cli/main.ts', [...args, '--init'], settings)
  t.equal(created.code, 0, created.stderr)
  t.match(created.stdout, /^\{[^\n]*\}\n$/, 'one line')
  t.equal((await runFile('src/cli/main.ts', args, settings)).code, 1, 'there is one already')
  const log = serverLog(settings.DATA_DIR)
  t.match(log, /database system is ready/)
  t.notMatch(
    log,
    /ERROR|violates|a@example/,
    'refused statements do not fill the log of the database',
  )
  t.equal(postmasterPid(settings.DATA_DIR), undefined)
  const service = await startProcess(t, settings)
  const { email, password } = JSON.parse(created.stdout)
  t.equal((await caller(() => service.url)('POST', '/login/', { email, password })).status, 200)
  t.equal(await service.stop(), 0)
  t.notOk(firstAccount(service.stdout()), 'there was an account already')
})

t.test('an account is not created where DATA_DIR holds no database', async (t) => {
  const parent = freshDataDir(t)
  for (const DATA_DIR of [join(parent, 'mistyped'), t.testdir({ 'notes.txt': '' })]) {
    const args = ['account', 'create', '--account', 'A', '--email', 'a@example.com']
    const before = existsSync(DATA_DIR) && readdirSync(DATA_DIR)
    const { code, stdout, stderr } = await runFile('src/cli/main.ts', args, { DATA_DIR })
    t.strictSame([code, stdout], [2, ''])
    t.match(stderr, `There is no database in ${DATA_DIR}: set DATA_DIR`)
    t.match(stderr, '--init')
    t.strictSame(existsSync(DATA_DIR) && readdirSync(DATA_DIR), before, 'nothing is made')
  }
})

t.test('wrong settings end the start with all of them listed', async (t) => {
  const { code, stdout, stderr } = await runFile('src/server.ts', [], { PORT: 'x', ROLE: 'y' })
  t.strictSame([code, stdout], [1, ''])
  t.match(stderr, /Cannot start:\n- PORT must .*\n- ROLE must /)
  t.notMatch(stderr, /\n {4}at /)
})

function serverLog(dataDir: string): string {
  const cluster = join(dataDir, 'postgres')
  return readdirSync(cluster).includes('server.log')
    ? readFileSync(join(cluster, 'server.log'), 'utf8')
    : ''
}
