import { readdirSync, readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createAccount } from '../../src/accounts/create-account.ts'
import { readConfig } from '../../src/config.ts'
import { poolUse } from '../../src/database/pool.ts'
import { openPools } from '../../src/pools.ts'
import { startService } from '../../src/service.ts'
import { leaveNothing } from '../helpers/leave-nothing.ts'
import { type Call, caller, freshDataDir } from '../helpers/process.ts'

/** Prints the figures of CONTRIBUTING.md, "Figures": `npm run house`. The service runs in this process, on data of its own. */
const root = join(import.meta.dirname, '../..')
const src = join(root, 'src')
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) =>
  file.endsWith('.ts'),
)
const texts = new Map(files.map((file) => [file, readFileSync(join(src, file), 'utf8')]))
const lines = [...texts.values()].reduce((sum, text) => sum + text.split('\n').length - 1, 0)
const isOfHttp = (file: string) => file.startsWith('http/')
const figures: [string, unknown][] = [
  ['files in src', files.length],
  ['lines in src', lines],
  ['files in src/http', files.filter(isOfHttp).length],
]

/** The files of src that a file imports, types included. */
function importsOf(file: string): string[] {
  const found = (texts.get(file) ?? '').matchAll(/(?:from|import\(|^import)\s*'(\.[^']+)'/gm)
  return [...found].map(([, path = '']) => join(dirname(file), path)).filter((to) => texts.has(to))
}

/** Groups of files that import each other, directly or through others: two files are in one if each reaches the other. */
function circles(): string[][] {
  const reached = new Map(files.map((file) => [file, reachedFrom(file)]))
  const groups = files.map((file) =>
    [...(reached.get(file) ?? [])].filter((other) => reached.get(other)?.has(file)).sort(),
  )
  const distinct = new Map(groups.map((group) => [group.join(), group]))
  return [...distinct.values()].filter(({ length }) => length > 0)
}

function reachedFrom(file: string): Set<string> {
  const reached = new Set<string>()
  const next = [file]
  for (let from = next.pop(); from !== undefined; from = next.pop())
    for (const to of importsOf(from))
      if (!reached.has(to)) {
        reached.add(to)
        next.push(to)
      }
  return reached
}

/** Underscored properties, symbols and prototypes of others, and casts that show properties which a type hides. */
const privateParts =
  /[.{]\s*_[a-z]|getOwnPropertySymbols|Symbol\.for|\.prototype\b|as (unknown|never) as \{/

const reaches = files.flatMap((file) =>
  (texts.get(file) ?? '')
    .split('\n')
    .flatMap((line, index) =>
      !/^\s*(\/?\*|\/\/)/.test(line) && privateParts.test(line) ? [`src/${file}:${index + 1}`] : [],
    ),
)

const command = leaveNothing()
const config = readConfig({
  DATA_DIR: freshDataDir(command, 'house'),
  LOG_LEVEL: 'fatal',
  ROLE: 'api',
})
const service = await startService(config)
command.teardown(() => service.close())
const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

const url = await service.app.listen({ port: 0 })
const { email, password } = await createAccount(service.server.url, {
  account: 'house',
  email: 'house@example.com',
})
const login = () => caller(() => url)('POST', '/login/', { email, password })
const token = (await login()).body.token
const call: Call = async (...request) => {
  const answer = await caller(() => url, token)(...request)
  if (answer.status >= 300) throw new Error(`${request[1]}: ${JSON.stringify(answer.body)}`)
  return answer
}

/** The files of src of which a request executes a function when it is sent a second time. */
async function executedBy(request: () => Promise<unknown>): Promise<string> {
  for (let run = 0; run < 3; run++) await request()
  await session.post('Profiler.takePreciseCoverage')
  await request()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const executed = result
    .filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0))
    .filter((script) => script.url.startsWith('file:'))
    .map((script) => relative(src, fileURLToPath(script.url)))
    .filter((file) => texts.has(file))
  return `${executed.length}, in src/http ${executed.filter(isOfHttp).length}`
}

const api = '/api/v1'
const row = { code: 'A', country: 'UK' }
const columns = { attributes: [], extensions: [{ name: 'country', type: 'string' }], costs: [] }
await call('POST', `${api}/product_catalog/schema/create_schema/`, columns)
await call('POST', `${api}/product_catalog/bulk_create_or_update/`, [row])
const list = { name: 'L', valid_from: '2026-01-01', valid_to: '2026-12-31' }
await call('POST', `${api}/price_list/bulk_create/`, [list])
const add = { price_list_name: 'L', payload: [row] }
await call('POST', `${api}/prices/bulk_add_products/`, add)
const sale = { transaction_id: 'T', code: 'A', extension: 'UK', quantity: '1', revenue: '1' }
const requests: Record<string, () => Promise<unknown>> = {
  get_prices: () => call('POST', `${api}/prices/get_prices/`, add),
  'upsert of one sale': () => call('POST', `${api}/sales_history/bulk_create_or_update`, [sale]),
  'list read': () => call('GET', `${api}/price_list/`),
  login,
}
for (const [name, request] of Object.entries(requests))
  figures.push([`files that a warm ${name} executes`, await executedBy(request)])

const pools = openPools(service.server, config.load.databaseConnections, {
  onError: () => undefined,
})
const pooled = Object.values(pools).reduce((sum, pool) => sum + poolUse(pool).max, 0)
// The pool of pg-boss, and its listener.
const queued = Number(/\bmax: (\d+)/.exec(texts.get('jobs/queue.ts') ?? '')?.[1]) + 1
const found = circles()
figures.push(
  ['circles of files', found.length],
  ['reaches into private parts', reaches.length],
  ['database connections', pooled + queued],
  ['migrations', readdirSync(join(root, 'migrations')).length],
)
for (const [name, value] of figures) console.log(`${name.padEnd(44)} ${value}`)
for (const group of found) console.log(`circle: ${group.join(' ')}`)
for (const reach of reaches) console.log(`reach: ${reach}`)
await command.end(true)
