import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { caller, type ServiceProcess, startCommand, startProcess } from '../helpers/process.ts'
import { jwtSecret, startTestService } from '../helpers/service.ts'

const path = '/api/v1/sales_history/bulk_create_or_update'
const header = 'transaction_id,code,extension,quantity,revenue\n'
const rows = (count: number) =>
  Array.from({ length: count }, (_, index) => `T${index},A,UK,1,2.50\n`).join('')
const badRow = 'B,A,UK,x,1\n'
const asFile = { 'content-type': 'text/csv', accept: 'text/csv' }

const service = await startTestService(t, { ROLE: 'api' })
/** The log of the process says why. */
const logged = /no temporary file for refused rows/

/** As on a disk with 1 MB left: a file that grows beyond is an error, once the signal that goes with it does not kill. */
const surviving = 'data:text/javascript,process.on("SIGXFSZ",()=>undefined)'
const [node, server] = startCommand
const onSmallDisk = [
  ...(['sh', '-c', 'ulimit -f 2048 && exec "$@"', 'sh'] as const),
  node,
  '--import',
  surviving,
  server,
] as const

type StartCommand = readonly [string, ...string[]]

async function start(t: Test, directory: string, command: StartCommand = startCommand) {
  const { token } = await service.newAccount(t)
  const settings = { DATABASE_URL: service.url, JWT_SECRET: jwtSecret, TMPDIR: directory }
  const process = await startProcess(t, { ...settings, ROLE: 'api' }, { command })
  return { process, call: caller(() => process.url, token) }
}

async function expectErrors(t: Test, { process, call }: Awaited<ReturnType<typeof start>>) {
  const refused = await call('POST', path, header + rows(40_000) + badRow, asFile)
  t.match(refused, {
    status: 400,
    body: {
      type: 'invalid-request',
      error_count: 1,
      errors: [{ line: 40_002, field: 'quantity' }],
    },
  })
  t.match(process.stderr(), logged)
  const loaded = await call('POST', path, header + rows(40_000), asFile)
  t.match(loaded, { status: 201, body: { rows: 40_000, created: 40_000 } })
}

async function stop(t: Test, process: ServiceProcess): Promise<void> {
  t.equal(await process.stop(), 0)
}

t.test('a refused file that finds no room on the disk is answered with its errors', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'pricewell-full-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  const started = await start(t, directory, onSmallDisk)
  await expectErrors(t, started)
  t.strictSame(readdirSync(directory), [], 'nothing is left')
  const small = await started.call('POST', path, header + badRow, asFile)
  t.match(small, { status: 400, body: /quantity: / })
  t.type(small.body, 'string', 'one for which there is room comes back')
  await stop(t, started.process)
})

t.test('so is one that finds no directory for temporary files', async (t) => {
  const started = await start(t, join(tmpdir(), 'pricewell-there-is-none'))
  await expectErrors(t, started)
  await stop(t, started.process)
})
