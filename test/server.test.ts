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
