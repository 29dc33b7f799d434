import { appendFileSync, existsSync, rmSync, symlinkSync, truncateSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { commandLine, userOf } from '../helpers/command-line.ts'
import { someCodes } from '../helpers/jobs.ts'
import { salesOf } from '../helpers/sales.ts'
import type { TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aFilledList, rowsOf } from '../helpers/shop.ts'
import { standIn } from '../helpers/stand-in.ts'

const service = await sharedService()
const PRICEWELL_URL = service.app.listeningOrigin
const header = 'transaction_id,code,extension,quantity,revenue\n'
const sale = (id: string) => ({
  transaction_id: id,
  code: 'A',
  extension: 'UK',
  quantity: '1',
  revenue: '2.50',
})
const csv = (...ids: string[]) => header + ids.map((id) => `${id},A,UK,1,2.50\n`).join('')

const idsOf = async (account: TestAccount) =>
  (await salesOf(account)).map(({ transaction_id }) => transaction_id).sort()

t.test('CSV, NDJSON and JSON are loaded, compressed or not', async (t) => {
  const account = await service.newAccount(t)
  const files = {
    'a.csv': csv('A1', 'A2'),
    'b.CSV.gz': gzipSync(csv('B1')),
    'c.ndjson': `${JSON.stringify(sale('C1'))}\n`,
    'd.jsonl.gz': gzipSync(JSON.stringify(sale('D1'))),
    'e.json': JSON.stringify([sale('E1'), sale('E2')], null, 2),
    'f.json.gz': gzipSync(JSON.stringify([sale('F1')])),
  }
  const { run } = userOf(t, service, account, files)
  const { code, stdout, stderr } = await run('load', 'sales', ...Object.keys(files))
  t.strictSame([code, stderr], [0, ''])
  const said = stdout.split('\n')
  t.match(said[0], /^a\.csv: 2 rows, 2 new, 0 updated in [\d.]+ s \([\d,]+ rows\/s\)\.$/)
  t.equal(said.length, 7)
  t.strictSame(await idsOf(account), ['A1', 'A2', 'B1', 'C1', 'D1', 'E1', 'E2', 'F1'])
})

t.test('a load that stopped is run again, and no row is doubled', async (t) => {
  const account = await service.newAccount(t)
  const files = { 'a.csv': csv('A1'), 'b.csv': `${csv('B1')}B2,,UK,1,2\n` }
  const { run, write } = userOf(t, service, account, files)
  t.equal((await run('load', 'sales', 'a.csv', 'b.csv')).code, 1)
  write({ 'b.csv': csv('B1', 'B2') })
  const { code, stdout } = await run('load', 'sales', 'a.csv', 'b.csv')
  const [first, second] = stdout.split('\n')
  t.equal(code, 0)
  t.match(first, /^a\.csv: 1 row, 0 new, 1 updated \(1 unchanged\) in /)
  t.match(second, /^b\.csv: 2 rows, 2 new, 0 updated in /)
  t.strictSame(await idsOf(account), ['A1', 'B1', 'B2'])
})

t.test('the file that is loaded last holds, also one that was loaded before', async (t) => {
  const account = await service.newAccount(t)
  const files = { 'day.csv': csv('A1'), 'night.csv': csv('A1').replace(',1,', ',7,') }
  const { run } = userOf(t, service, account, files)
  for (const file of ['day.csv', 'night.csv', 'day.csv'])
    t.equal((await run('load', 'sales', file)).code, 0)
  t.match(await salesOf(account), [{ transaction_id: 'A1', quantity: '1' }])
  t.equal((await run('load', 'sales', 'night.csv', 'day.csv', 'night.csv')).code, 0)
  t.match(await salesOf(account), [{ transaction_id: 'A1', quantity: '7' }])
})

t.test('a refused file names its lines; the others are loaded', async (t) => {
  const account = await service.newAccount(t)
  const bad = `${csv('B1')}B2,"A\nB",UK,many,\n`
  const { run } = userOf(t, service, account, { 'bad.csv': bad, 'good.csv': csv('G1') })
  const { code, stdout, stderr } = await run('load', 'sales', 'bad.csv', 'good.csv')
  t.equal(code, 1)
  t.match(stdout, /^good\.csv: 1 row, 1 new/)
  t.equal(
    stderr,
    `
bad.csv: 2 errors. Nothing was written.
  line 3, revenue: is required
  line 3, quantity "many": must be a decimal number in a string, at most 15 significant digits and 6 decimals
Refused: 1 of 2 files.
`.slice(1),
  )
  t.strictSame(await idsOf(account), ['G1'])
})

t.test('of many bad lines the first are shown; JSON has what the service lists', async (t) => {
  const account = await service.newAccount(t)
  const bad =
    header +
    'X,,UK,1,1\n'.replace('X', 'Y') +
    someCodes(24)
      .map((id) => `${id},,UK,1,1\n`)
      .join('')
  const { run } = userOf(t, service, account, { 'bad.csv': bad })
  const { stderr } = await run('load', 'sales', 'bad.csv')
  t.match(
    stderr,
    /^bad\.csv: 25 errors\.[^\n]*\n( {2}line \d+, code: is required\n){20} {2}and 5 more\n/,
  )
  const { code, stdout, stderr: fault } = await run('load', 'sales', 'bad.csv', '--json')
  t.equal(code, 1)
  const told = JSON.parse(stdout)
  t.match(told, { file: 'bad.csv', type: 'invalid-request', error_count: 25 })
  t.match([told.errors.length, told.errors[24].line], [25, 26])
  t.strictSame(JSON.parse(fault), { exit_code: 1, message: 'bad.csv was refused.' })
})

t.test('the reject file has the rejected rows; corrected, it is loaded', async (t) => {
  const account = await service.newAccount(t)
  const ndjson = `${JSON.stringify(sale('N1'))}\n${JSON.stringify({ ...sale('N2'), code: 5 })}\n`
  const files = { 'a.csv': `${csv('A1')}A2,,UK,1,2\n`, 'n.ndjson': ndjson }
  const { run, read, write } = userOf(t, service, account, files)
  const refused = await run('load', 'sales', 'a.csv', '--rejects', 'rejects.csv')
  t.equal(refused.code, 1)
  t.match(refused.stderr, /rejects\.csv has the rejected rows, each with its error\.\n/)
  const rejects = read('rejects.csv')
  t.match(rejects, /^transaction_id,.*,error\r?\nA2,.*,code: is required\r?\n$/)
  write({ 'rejects.csv': rejects.replace('A2,,', 'A2,A,') })
  t.equal((await run('load', 'sales', 'rejects.csv')).code, 0)
  t.strictSame(await idsOf(account), ['A2'])
  write({ 'cut.csv': `${csv('A1')}"never closed` })
  const cut = await run('load', 'sales', 'cut.csv', '--rejects', 'no.csv')
  t.equal(cut.code, 1)
  t.match(cut.stderr, /^cut\.csv: Line 3 .*\n {2}line 3: .*\ncut\.csv was refused\.\n$/)
  t.throws(() => read('no.csv'), { code: 'ENOENT' })
  const unwritable = await run('load', 'sales', 'n.ndjson', '--rejects', 'none/no.ndjson')
  t.match(unwritable, { code: 2, stderr: 'none/no.ndjson cannot be written (ENOENT).\n' })
  await run('load', 'sales', 'n.ndjson', '--rejects', 'rejects.ndjson')
  t.match(read('rejects.ndjson').split('\n'), [/^\{"transaction_id":"N2".*"error":"code: /, ''])
})

t.test(
  'lines that are not JSON are named beside the bad rows, which may begin with a BOM',
  async (t) => {
    const account = await service.newAccount(t)
    const bad = JSON.stringify({ ...sale('N1'), code: 5 })
    const large = JSON.stringify(sale('N2')).replace('}', ',"price":5.100000000000000000001}')
    const { run } = userOf(t, service, account, { 'n.ndjson': `\uFEFF${bad}\n{bad\n${large}\n` })
    const { code, stderr } = await run('load', 'sales', 'n.ndjson')
    t.equal(code, 1)
    t.match(stderr, /line 1, code "5": must be string\n {2}line 2: is not valid JSON/)
    t.match(stderr, '5.100000000000000000001', 'a number as written')
  },
)

t.test('the reject file never replaces the file itself', async (t) => {
  const account = await service.newAccount(t)
  const file = `${csv('A1')}A2,,UK,1,2\n`
  const { run, read, home } = userOf(t, service, account, { 'a.csv': file })
  symlinkSync('a.csv', join(home, 'link.csv'))
  for (const rejects of ['a.csv', './a.csv', 'link.csv']) {
    const stderr = '--rejects would replace a.csv: name another file.\n'
    t.match(await run('load', 'sales', 'a.csv', '--rejects', rejects), { code: 2, stderr })
    t.equal(read('a.csv'), file, rejects)
  }
})

t.test(
  'a file that breaks a guardrail, or is stale, does not keep the next from being loaded',
  async (t) => {
    const { shop, list } = await aFilledList(t, service, { guardrails: { max_price: 10 } })
    const files = {
      'high.csv': 'code,country,price\nA,UK,99\n',
      'low.csv': 'code,country,price\nA,UK,9\n',
      'old.csv': 'code,country,price,expected_price\nA,UK,8,777\n',
      'new.csv': 'code,country,price\nA,UK,7\n',
    }
    const { run, read } = userOf(t, service, shop, files)
    const prices = ['load', 'prices', '--list', 'L']
    for (const flags of [[], ['--job']]) {
      const { code, stderr } = await run(...prices, ...Object.keys(files), ...flags)
      t.equal(code, 1)
      t.match(stderr, /^high\.csv: 1 violation .*\n {2}line 2: .* above 10\nUse --override /)
      t.match(stderr, /\nold\.csv: 1 row .*\n {2}line 2: .*\nUse --skip-stale /)
      t.match(stderr, /\nRefused: 2 of 4 files\.\n$/)
    }
    t.equal((await rowsOf(shop, list))[0].prices.price, 7)
    t.equal((await run(...prices, 'high.csv', '--rejects', 'r.csv')).code, 1)
    t.match(read('r.csv'), /^code,country,price,error\r?\nA,UK,99,.* is above 10\r?\n$/)
    const forced = ['--override', 'agreed', '--note', 'Größe']
    t.match(await run(...prices, 'high.csv', ...forced), { code: 0, stderr: '' })
    t.equal((await rowsOf(shop, list))[0].prices.price, 99)
    const { results } = (await shop.get(`/api/v1/price_list/${list.id}/revisions/`)).body
    t.match(results[0], { note: 'Größe', override: 'agreed' })
    const skipped = await run(...prices, 'old.csv', '--skip-stale')
    t.match(skipped, { code: 0, stdout: /^old\.csv: 1 row, .*, 1 stale left out in / })
    t.equal((await rowsOf(shop, list))[0].prices.price, 99)
  },
)

t.test('a refused file that is loaded when it is sent for its errors was loaded', async (t) => {
  const errors = [{ pointer: '/0/code', row: 0, line: 2, code: 'row_not_in_list', message: 'no' }]
  const problem = { type: 'invalid-request', title: 'T', status: 400, detail: 'D', instance: '' }
  const result = { rows: 1, created: 1, updated: 0 }
  const headers = { 'content-type': 'application/vnd.pricewell.feed+json' }
  const { url } = await standIn(t, [
    { status: 400, body: { ...problem, error_count: 1, errors } },
    { status: 200, headers, body: result },
  ])
  const user = commandLine(t, { PRICEWELL_URL: url, PRICEWELL_TOKEN: 'a.b.c' })
  user.write({ 'a.csv': csv('A1') })
  const { code, stdout, stderr } = await user.run('load', 'sales', 'a.csv', '--rejects', 'r.csv')
  t.strictSame([code, stderr], [0, ''])
  t.match(stdout, /^a\.csv: 1 row, 1 new, 0 updated in /)
  t.equal(existsSync(join(user.home, 'r.csv')), false)
})

t.test('on a terminal rejected rows are written, too, and that is the end', async (t) => {
  const { read, type } = userOf(t, service, await service.newAccount(t), {
    'a.csv': `${csv('A1')}A2,,UK,1,2\n`,
  })
  const { code, screen } = await type('', 'load', 'sales', 'a.csv', '--rejects', 'r.csv')
  t.equal(code, 1)
  t.match(screen, /a\.csv was refused\./)
  t.match(read('r.csv'), /A2,.*,code: is required\r?\n$/)
})

t.test('prices and dynamic attributes go into a list', async (t) => {
  const { shop, list } = await aFilledList(t, service, { name: 'My list & more' })
  const { run } = userOf(t, service, shop, {
    'p.csv': 'code,country,price\nA,UK,2.5\n',
    'd.json': JSON.stringify([
      { code: 'A', country: 'UK', dynamic_attribute_name: 'shelf', dynamic_attribute_value: 4 },
    ]),
  })
  t.equal((await run('load', 'prices', 'p.csv', '--list', list.name)).code, 0)
  t.equal((await run('load', 'dynamic-attributes', '--list', list.name, 'd.json')).code, 0)
  t.match(await rowsOf(shop, list), [{ prices: { price: 2.5 }, dynamic_attributes: { shelf: 4 } }])
  const missing = await run('load', 'prices', 'p.csv', '--list', 'another')
  t.strictSame(missing, { code: 1, stdout: '', stderr: 'There is no price list "another".\n' })
})

t.test('usage: what cannot be loaded is 2, and nothing is sent', async (t) => {
  const { run } = userOf(t, service, await service.newAccount(t), {
    'a.csv': csv('A1'),
    'b.csv': csv('B1'),
    'a.txt': 'x',
    'no.json': '{',
    'one.json': '{}',
    'some.json': '[]',
    'latin.json': Buffer.from('["\xe9"]', 'latin1'),
    'cut.json.gz': gzipSync('[]').subarray(0, 15),
  })
  const kinds =
    'products, sales, competitor-prices, agreements, promotions, rows, prices, dynamic-attributes'
  const endings =
    'does not end in .csv, .ndjson, .jsonl or .json (or these with .gz): save a workbook as CSV UTF-8.'
  const cases: [string[], string][] = [
    [['sales'], "error: missing required argument 'file'"],
    [
      ['stock', 'a.csv'],
      `error: command-argument value 'stock' is invalid for argument 'kind'. Allowed choices are ${kinds}.`,
    ],
    [['sales', 'none.csv'], 'none.csv cannot be read (ENOENT).'],
    [['sales', 'a.csv', 'none.csv'], 'none.csv cannot be read (ENOENT).'],
    [['sales', '.'], '. is not a file.'],
    [['sales', 'a.txt'], `a.txt ${endings}`],
    [['sales', 'one.json'], 'one.json is not a JSON array of rows.'],
    [['prices', 'a.csv'], 'Name the price list of prices: --list.'],
    [['rows', 'a.csv'], 'Name the price list of rows: --list.'],
    [['sales', 'a.csv', '--list', 'L'], '--list does not apply to sales.'],
    [['sales', 'a.csv', '--note', 'n'], '--note does not apply to sales.'],
    [
      ['promotions', 'a.csv', '--note', 'n'],
      '--note of promotions needs --plan: only a plan keeps it.',
    ],
    [['promotions', 'a.csv', '--override', 'r'], '--override does not apply to promotions.'],
    [['agreements', 'a.csv', '--skip-stale'], '--skip-stale does not apply to agreements.'],
    [['sales', 'a.csv', 'b.csv', '--rejects', 'r'], '--rejects takes one file at a time.'],
    [
      ['sales', 'some.json', '--rejects', 'r.json'],
      'The rejected rows of some.json are NDJSON: make r.json end in .ndjson.',
    ],
    [
      ['sales', 'a.csv', '--rejects', 'r.ndjson.gz'],
      'The rejected rows of a.csv are CSV: make r.ndjson.gz end in .csv.',
    ],
    [['sales', 'latin.json'], 'latin.json is not valid UTF-8.'],
    [['sales', 'cut.json.gz'], 'cut.json.gz is not complete, valid gzip.'],
  ]
  for (const [args, message] of cases) {
    const { code, stdout, stderr } = await run('load', ...args)
    t.strictSame([code, stdout, stderr.split('\n')[0]], [2, '', message], args.join(' '))
  }
  t.match((await run('load', 'sales', 'no.json')).stderr, /^no\.json is not valid JSON: /)
})

t.test('the rows of a JSON file arrive as they are written', async (t) => {
  const { shop, list } = await aFilledList(t, service)
  const row = (price: string) => `{"code":\r\n "A", "country": "UK", "price": ${price}}`
  const { run } = userOf(t, service, shop, {
    'good.json': `\ufeff [\n${row('2.50')}\n]\n`,
    'inexact.json': `[${row('1')},${row('2.5000000000000000001')}]`,
    'twice.json': `[${row('1, "price": 2')}]`,
    'sales.json': JSON.stringify([{ ...sale('[{"\\\n,]}'), extension: '\u2028é' }], null, 2),
    'none.json': ' [ ] ',
  })
  const load = (name: string) => run('load', 'prices', name, '--list', list.name)
  t.equal((await load('good.json')).code, 0)
  const inexact = await load('inexact.json')
  t.match(inexact, { code: 1, stderr: /\n {2}row 2, price "2.50*1": must have/ })
  t.match(await load('twice.json'), { code: 1, stderr: /same key twice/ })
  t.match(await rowsOf(shop, list), [{ prices: { price: 2.5 } }])
  t.equal((await run('load', 'sales', 'sales.json')).code, 0)
  const [stored] = await salesOf(shop)
  t.match(stored, { transaction_id: '[{"\\\n,]}', extension: '\u2028é' })
  t.match((await run('load', 'sales', 'none.json')).stdout, /^none\.json: 0 rows/)
})

t.test(
  'a bad row of a JSON array is named by its number, because the file has other lines',
  async (t) => {
    const rows = JSON.stringify([sale('A1'), { ...sale('A2'), code: 5 }], null, 2)
    const { run } = userOf(t, service, await service.newAccount(t), { 'a.json': rows })
    for (const flags of [[], ['--job']])
      t.match(
        (await run('load', 'sales', 'a.json', ...flags)).stderr,
        /\n {2}row 2, code "5": must be /,
      )
    const { errors } = JSON.parse((await run('load', 'sales', 'a.json', '--json')).stdout)
    t.match(errors, [{ row: 1, field: 'code', value: '5' }])
    t.notOk('line' in errors[0])
  },
)

t.test('files are loaded also when nobody reads what is told of them', async (t) => {
  const account = await service.newAccount(t)
  const { shell } = userOf(t, service, account, { 'a.csv': csv('A1'), 'b.csv': csv('B1') })
  const { code } = await shell('pricewell load sales a.csv b.csv | true')
  t.strictSame([code, await idsOf(account)], [0, ['A1', 'B1']])
})

t.test('control characters of a file do not reach the terminal', async (t) => {
  const { run } = userOf(t, service, await service.newAccount(t), { 'a.csv': 'a\u001b[31mb\n1\n' })
  const { stderr } = await run('load', 'sales', 'a.csv')
  t.match(stderr, '  line 1, a·[31mb: is not a known key; known are transaction_id, ')
})

t.test('a file is read again when the connection breaks', async (t) => {
  const body = { rows: 3, created: 3, updated: 0 }
  const { url, requests } = await standIn(t, ['destroy', { status: 201, body }])
  const { run } = userOf(t, service, await service.newAccount(t), { 'a.csv': csv('A1', 'A2') })
  t.equal((await run('load', 'sales', 'a.csv', '--url', url)).code, 0)
  t.strictSame(
    requests.map(({ text }) => text),
    [csv('A1', 'A2'), csv('A1', 'A2')],
  )
  const [key, ...keys] = requests.map(({ headers }) => headers['idempotency-key'])
  t.ok(key)
  t.strictSame(keys, [key])
})

/** A service that does this when a request comes, and breaks the connection. */
async function breaksAfter(t: Test, work: () => void): Promise<string> {
  const server = createServer(({ socket }) => {
    work()
    socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('a file that cannot be read again, or is another then, is 2 and is named', async (t) => {
  const account = await service.newAccount(t)
  const cases: [(file: string) => void, string][] = [
    [(file) => rmSync(file, { force: true }), 'cannot be read (ENOENT).\n'],
    [(file) => appendFileSync(file, csv('A3')), 'changed while it was being read.\n'],
    [(file) => truncateSync(file, 20), 'changed while it was being read.\n'],
  ]
  for (const [change, message] of cases)
    for (const [name, content] of [
      ['a.csv', csv('A1', 'A2')],
      ['a.csv.gz', gzipSync(csv('A1', 'A2'))],
    ] as const) {
      const { home, run } = userOf(t, service, account, { [name]: content })
      const url = await breaksAfter(t, () => change(join(home, name)))
      const { code, stderr } = await run('load', 'sales', name, '--url', url)
      t.strictSame([code, stderr], [2, `${name} ${message}`])
    }
})

t.test('a load that still runs is waited for, and is no refusal', async (t) => {
  const type = 'idempotency-key-in-use'
  const running = (seconds: number) => ({
    status: 409,
    headers: { 'retry-after': String(seconds) },
    body: { type, title: 'Title', status: 409, detail: 'It is running.', instance: 'i' },
  })
  const { run } = userOf(t, service, await service.newAccount(t), { 'a.csv': csv('A1') })
  const done = { status: 201, body: { rows: 1, created: 1, updated: 0 } }
  const gateway = { status: 504, headers: { 'content-type': 'text/html' }, body: 'No answer' }
  const short = await standIn(t, [gateway, ...Array(7).fill(running(0)), done])
  t.equal((await run('load', 'sales', 'a.csv', '--url', short.url)).code, 0)
  t.equal(new Set(short.requests.map(({ headers }) => headers['idempotency-key'])).size, 1)
  const { url } = await standIn(t, [running(60)])
  const long = await run('load', 'sales', 'a.csv', '--url', url)
  t.match(long, {
    code: 3,
    stdout: '',
    stderr: /still working on the first attempt.* Run the same command again later to be/,
  })
  const told = await run('load', 'sales', 'a.csv', '--url', url, '--json')
  t.match(JSON.parse(told.stderr), { exit_code: 3, type })
})

t.test('a file says how long it is, as it travels', async (t) => {
  const zipped = gzipSync(csv('A1'))
  const rows = [{ ...sale('C1'), extension: 'é' }]
  const files = {
    'a.csv': csv('A1', 'A2'),
    'b.csv.gz': zipped,
    'none.csv': '',
    'c.json': JSON.stringify(rows),
  }
  const body = { rows: 1, created: 1, updated: 0 }
  const { url, requests } = await standIn(t, [{ status: 201, body }])
  const { run } = userOf(t, service, await service.newAccount(t), files)
  t.equal((await run('load', 'sales', ...Object.keys(files), '--url', url)).code, 0)
  t.strictSame(
    requests.map(({ headers }) => headers['content-length']),
    [
      csv('A1', 'A2').length,
      zipped.length,
      0,
      Buffer.byteLength(`${JSON.stringify(rows[0])}\n`),
    ].map(String),
  )
})

t.test(
  'a large file is refused at once without a login, and on a terminal it has a bar',
  async (t) => {
    const account = await service.newAccount(t)
    const large = csv(...Array.from({ length: 60_000 }, (_, index) => `T${index}`))
    const { run, type } = userOf(t, service, account, { 'large.csv': large })
    const { code, screen } = await type('', 'load', 'sales', 'large.csv')
    t.equal(code, 0)
    t.match(screen, /large\.csv █+ 100 % {2}[\d.]+ MB\/s {2}\d+s/)
    t.match(screen, /large\.csv: 60,000 rows, 60,000 new, 0 updated/)
    const stranger = commandLine(t, { PRICEWELL_URL, PRICEWELL_TOKEN: 'a.b.c' })
    stranger.write({ 'large.csv': large })
    t.equal((await stranger.run('load', 'sales', 'large.csv')).code, 4)
    t.equal((await run('jobs')).code, 0)
  },
)
