import { execFile, execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { childEnvironment } from './helpers/process.ts'
import { sharedService } from './helpers/shared-service.ts'
import { standIn } from './helpers/stand-in.ts'
import { aUser } from './helpers/user.ts'

const examples = join(import.meta.dirname, '../examples')
const service = await sharedService()
const url = service.app.listeningOrigin

t.test('curl.sh loads a file of each kind, and runs again', async (t) => {
  const run = await runner('bash', 'curl.sh')
  const kinds = [...(await run()).matchAll(/"rows":(\d+),"created":(\d+),"updated":(\d+)/g)]
  const counts = kinds.map(([, ...numbers]) => numbers.map(Number))
  const [products, prices, promotions, competitors, sales, agreements] = counts
  t.strictSame(
    [products, prices, promotions],
    [
      [5, 5, 0],
      [8, 0, 4],
      [2, 2, 0],
    ],
  )
  t.strictSame(
    [competitors, sales, agreements],
    [
      [3, 3, 0],
      [4, 4, 0],
      [2, 2, 0],
    ],
  )
  const rows = JSON.parse((await run()).trim().split('\n').at(-1) ?? '')
  t.match(rows, [
    { country: 'France', active_price: 7.92, promotions: [{ name: 'Mugs of March' }] },
    { country: 'Germany', active_price: 7.6, margin: 63.684211 },
  ])
})

t.test('curl.sh ends when a call is refused', async (t) => {
  const refusal = { type: 'invalid-request', title: 'T', status: 400, detail: 'D', instance: 'i' }
  const { url, requests } = await standIn(t, [
    { status: 200, body: { token: 'a.b.c' } },
    ...Array(2).fill({ status: 201, body: {} }),
    { status: 400, body: refusal },
  ])
  await t.rejects(runExample('bash', 'curl.sh', { PRICEWELL_URL: url }), { code: 1 })
  t.equal(requests.at(-1)?.url, '/api/v1/price_list/bulk_create/')
})

t.test('typescript.ts sets prices and names a refused row, and runs again', async (t) => {
  const run = await runner(process.execPath, 'typescript.ts')
  const expected = [
    'BOWL-04 France 6.5 60',
    'BOWL-04 Germany 6.5 60.769231',
    'refused: /payload/0/code row_not_in_list',
  ]
  for (const time of ['first', 'again'])
    t.strictSame((await run()).trim().split('\n'), expected, time)
})

const python = findPython()
if (!python) console.error('SKIPPED: examples/python.py, as there is no python3 here')
t.test('python.py loads and exports files, and runs again', { skip: !python }, async (t) => {
  const run = await runner('python3', 'python.py')
  t.match(await run(), /'created': 5, .*\nsales: done .*\nK-1001-1 2 15.84\n/)
  t.match(await run(), /'updated': 5/)
})

t.test(
  'python.py repeats what got no answer, and fails with its job',
  { skip: !python },
  async (t) => {
    const problem = { title: 'T', status: 409, detail: 'D', instance: 'i' }
    const running = { status: 409, headers: { 'retry-after': '0' }, body: problem }
    const job = { id: 7, status: 'failed', progress: {}, errors: [{ code: 'bad' }] }
    const answers = [
      { status: 200, body: { token: 'a.b.c' } },
      ...(['destroy', running] as const),
      ...[
        { status: 201, body: {} },
        { status: 201, body: {} },
      ],
      { status: 202, body: job },
    ]
    const { url, requests } = await standIn(t, answers)
    const stderr = /^\[\{'code': 'bad'\}\]\n$/
    await t.rejects(runExample('python3', 'python.py', { PRICEWELL_URL: url }), { code: 1, stderr })
    const keys = requests.slice(1, 4).map(({ headers }) => headers['idempotency-key'])
    t.equal(new Set(keys).size, 1)
  },
)

/** Runs an example in the name of a new account; answers what it prints. */
async function runner(command: string, file: string): Promise<() => Promise<string>> {
  const { email, password } = await aUser(service)
  const login = { PRICEWELL_EMAIL: email, PRICEWELL_PASSWORD: password }
  return () => runExample(command, file, { PRICEWELL_URL: url, ...login })
}

async function runExample(command: string, file: string, settings: Record<string, string>) {
  const env = childEnvironment(settings)
  const { stdout } = await promisify(execFile)(command, [join(examples, file)], { env })
  return stdout
}

function findPython(): boolean {
  try {
    execFileSync('python3', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
