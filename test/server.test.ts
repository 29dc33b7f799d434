import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import type { Writable } from 'node:stream'
import t, { type Test } from 'tap'
import { freshDataDir, logInFirst, startProcess } from './helpers/process.ts'

/** Starts a service with this log, uses it, and stops it. */
async function useWithLog(t: Test, log: number | Writable, isReady?: Promise<unknown>) {
  const service = await startProcess(t, { DATA_DIR: freshDataDir(t) }, { log })
  const call = await logInFirst(service)
  await isReady
  for (let request = 0; request < 5; request++)
    t.equal((await call('GET', '/api/v1/price_list/')).status, 200)
  t.equal(await service.stop(), 0)
}

t.test(
  'a log that cannot be written, as on a full disk, does not end the service',
  { skip: !existsSync('/dev/full') && 'there is no /dev/full here' },
  async (t) => {
    const full = openSync('/dev/full', 'w')
    t.teardown(() => closeSync(full))
    await useWithLog(t, full)
  },
)

t.test('a reader of the log that goes away does not end the service', async (t) => {
  const reader = spawn('head', ['-n', '1'], { stdio: ['pipe', 'ignore', 'ignore'] })
  await useWithLog(t, reader.stdin, once(reader, 'exit'))
})

t.test('no signal opens the debugger', async (t) => {
  const service = await startProcess(t, { DATA_DIR: freshDataDir(t) })
  process.kill(service.pid, 'SIGUSR1')
  const call = await logInFirst(service)
  t.equal((await call('GET', '/api/v1/price_list/')).status, 200)
  t.equal(await service.stop(), 0)
  t.notMatch(service.stderr(), /debugger/i)
})

t.test('standard error holds the lines of the log and nothing else', async (t) => {
  // The runner of the tests keeps all processes from warning.
  const command = [process.execPath, '--warnings', 'src/server.ts'] as const
  const service = await startProcess(t, { DATA_DIR: freshDataDir(t) }, { command })
  const call = await logInFirst(service)
  const lists = [{ name: 'Retail', valid_from: '2026-01-01', valid_to: '2026-12-31' }]
  t.equal((await call('POST', '/api/v1/price_list/bulk_create/', lists)).status, 201)
  t.equal(await service.stop(), 0)
  const lines = service.stderr().trimEnd().split('\n')
  t.same(
    lines.filter((line) => !line.startsWith('{')),
    [],
  )
})
