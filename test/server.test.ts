import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import t, { type Test } from 'tap'
import { cloneDatabase } from './helpers/database.ts'
import { type Call, caller, type ServiceProcess, startProcess } from './helpers/process.ts'
import { jwtSecret } from './helpers/service.ts'
import { aUser } from './helpers/user.ts'

/** Starts a service on a database of its own, uses it, and stops it. */
async function useService(
  t: Test,
  start: Parameters<typeof startProcess>[2],
  use: (call: Call, service: ServiceProcess) => Promise<void>,
): Promise<ServiceProcess> {
  const database = await cloneDatabase()
  const settings = { DATABASE_URL: database.url, JWT_SECRET: jwtSecret }
  const service = await startProcess(t, settings, start)
  const { body } = await caller(() => service.url)('POST', '/login/', await aUser(database))
  await use(
    caller(() => service.url, body.token),
    service,
  )
  t.equal(await service.stop(), 0)
  await database.drop()
  return service
}

async function readLists(t: Test, call: Call): Promise<void> {
  for (let request = 0; request < 5; request++)
    t.equal((await call('GET', '/api/v1/price_list/')).status, 200)
}

t.test(
  'a log that cannot be written, as on a full disk, does not end the service',
  { skip: !existsSync('/dev/full') && 'there is no /dev/full here' },
  async (t) => {
    const full = openSync('/dev/full', 'w')
    t.teardown(() => closeSync(full))
    await useService(t, { log: full }, (call) => readLists(t, call))
  },
)

t.test('a reader of the log that goes away does not end the service', async (t) => {
  const reader = spawn('head', ['-n', '1'], { stdio: ['pipe', 'ignore', 'ignore'] })
  const gone = once(reader, 'exit')
  await useService(t, { log: reader.stdin }, async (call) => {
    await gone
    await readLists(t, call)
  })
})

t.test('npm start compiles the service and serves', async (t) => {
  await useService(t, { command: ['npm', 'start'] }, (call) => readLists(t, call))
})

t.test('standard error holds only log lines, and no signal opens the debugger', async (t) => {
  // The runner of the tests keeps all processes from warning.
  const command = [process.execPath, '--warnings', 'src/server.ts'] as const
  const service = await useService(t, { command }, async (call, { pid }) => {
    process.kill(pid, 'SIGUSR1')
    const lists = [{ name: 'Retail', valid_from: '2026-01-01', valid_to: '2026-12-31' }]
    t.equal((await call('POST', '/api/v1/price_list/bulk_create/', lists)).status, 201)
  })
  const lines = service.stderr().trimEnd().split('\n')
  t.same(
    lines.filter((line) => !line.startsWith('{')),
    [],
  )
})
