import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  createReadStream,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { userOf } from '../helpers/command-line.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aList, aShop, setPrices } from '../helpers/shop.ts'
import { nothingThere, standIn } from '../helpers/stand-in.ts'

const service = await sharedService()

const uk = { code: 'A', country: 'UK' }
const shop = await aShop(t, service, { codes: ['A', 'B'], countries: ['UK', 'France'] })
await aList(shop, { name: 'L' })
await addProducts(shop, 'L', [uk])
await setPrices(shop, 'L', [{ ...uk, price: 2.5 }])
await shop.post('/api/v1/prices/bulk_update_dynamic_attributes/', {
  price_list_name: 'L',
  payload: [{ ...uk, dynamic_attribute_name: 'side', dynamic_attribute_value: '12' }],
})
await shop.post('/api/v1/sales_history/bulk_create_or_update', [
  { transaction_id: 'T1', code: 'A\n"B"', extension: '', quantity: '1', revenue: '2.50' },
])
await shop.post('/api/v1/competitor_prices/schema/create_schema/', { attributes_config: ['code'] })
await shop.post('/api/v1/competitor_prices/bulk_create_or_update/', [
  { code: 'A', competitor_name: 'Lantern', competitor_price: 2, latest_update: '2026-01-01' },
])
await shop.post('/api/v1/agreement/bulk_create_or_update', [
  {
    name: 'N',
    client_code: 'C',
    price_list_code: 'L',
    price_line: { product_code: 'A' },
    prices: { price: 2 },
  },
])
await shop.post('/api/v1/promotions/bulk_create_or_update/', [
  { name: 'P', kind: 'amount', value: 1, valid_from: '2026-01-01', valid_to: '2026-01-02' },
])
const { home, write, run, shell } = userOf(t, service, shop)
const read = (name: string) => readFileSync(join(home, name))

t.test('every kind is written, in both formats, and can be loaded again', async (t) => {
  const kinds: [string, number][] = [
    ...([
      ['products', 4],
      ['sales', 1],
      ['competitor-prices', 1],
    ] as [string, number][]),
    ...([
      ['agreements', 1],
      ['promotions', 1],
      ['prices', 1],
      ['dynamic-attributes', 1],
    ] as [string, number][]),
  ]
  for (const [kind, rows] of kinds) {
    const list = ['prices', 'dynamic-attributes'].includes(kind) ? ['--list', 'L'] : []
    for (const format of ['csv', 'ndjson']) {
      const file = `${kind}.${format}`
      const { code, stdout, stderr } = await run('export', kind, ...list, '-o', file)
      t.strictSame(
        [code, stdout, stderr],
        [0, `${file}: ${rows} ${rows === 1 ? 'row' : 'rows'}.\n`, ''],
        file,
      )
      const loaded = await run('load', kind, ...list, file, '--json')
      t.match(JSON.parse(loaded.stdout || loaded.stderr), { rows, created: 0, updated: rows }, file)
    }
  }
})

t.test('to standard output it is CSV, or what is asked for', async (t) => {
  const { code, stdout, stderr } = await run('export', 'products')
  t.strictSame([code, stderr], [0, ''])
  t.match(stdout, /^extended_catalog_id,code,.*\r?\n/)
  t.equal(stdout.trim().split('\n').length, 5)
  const ndjson = await run('export', 'sales', '--format', 'ndjson')
  t.match(JSON.parse(ndjson.stdout), { transaction_id: 'T1', code: 'A\n"B"' })
  t.equal((await run('export', 'products', '-o', '-')).stdout, stdout)
})

t.test('a name that ends in .gz is compressed', async (t) => {
  await run('export', 'products', '-o', 'products.csv')
  t.equal(
    (await run('export', 'products', '-o', 'all.csv.gz', '--json')).stdout,
    '{"file":"all.csv.gz","rows":4}\n',
  )
  t.strictSame(gunzipSync(read('all.csv.gz')), read('products.csv'))
  await run('export', 'products', '-o', 'ALL.CSV.GZ')
  t.strictSame(gunzipSync(read('ALL.CSV.GZ')), read('products.csv'))
})

t.test('with --json standard output has lines of JSON', async (t) => {
  const { stdout } = await run('export', 'products', '--json')
  t.equal(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).code)
      .join(),
    'A,A,B,B',
  )
  t.match((await run('export', 'products', '--json', '--format', 'csv')).stdout, /^extended_/)
})

t.test('what is there and is no file is written to; a link stays one', async (t) => {
  const { stdout: products } = await run('export', 'products')
  execFileSync('mkfifo', [join(home, 'pipe')])
  const piped = text(createReadStream(join(home, 'pipe')))
  t.equal((await run('export', 'products', '-o', 'pipe')).code, 0)
  t.equal(await piped, products)
  t.ok(lstatSync(join(home, 'pipe')).isFIFO())
  write({ 'target.csv': 'old' })
  symlinkSync('target.csv', join(home, 'link.csv'))
  await run('export', 'products', '-o', 'link.csv')
  t.ok(lstatSync(join(home, 'link.csv')).isSymbolicLink())
  t.equal(String(read('target.csv')), products)
})

t.test('who has seen enough of standard output ends it; one that is full is told', async (t) => {
  t.strictSame(await shell('pricewell export products | true'), { code: 0, stdout: '', stderr: '' })
  for (const command of ['export products', 'jobs', 'prices L A']) {
    const stderr = 'Standard output cannot be written (ENOSPC).\n'
    const full = await shell(`pricewell ${command} > /dev/full`)
    t.strictSame(full, { code: 2, stdout: '', stderr }, command)
  }
  const disk = await run('export', 'products', '-o', '/dev/full')
  t.match(disk, { code: 2, stdout: '', stderr: '/dev/full cannot be written (ENOSPC).\n' })
})

t.test('standard output that takes a part only is told', async (t) => {
  const { code, stderr } = await shell(
    'unset NODE_OPTIONS; ulimit -f 1; pricewell load --help > part',
  )
  t.strictSame([code, stderr], [2, 'Standard output cannot be written (EFBIG).\n'])
  t.equal(statSync(join(home, 'part')).size, 1024)
})

t.test('a file takes the place of another whole, and is for the same readers', async (t) => {
  const { stdout: products } = await run('export', 'products')
  for (const mode of [0o600, 0o440, 0o666]) {
    write({ 'kept.csv': 'old' })
    chmodSync(join(home, 'kept.csv'), mode)
    write({ 'kept.csv.part': 'mine' })
    t.equal((await run('export', 'products', '-o', 'kept.csv')).code, 0)
    t.equal(statSync(join(home, 'kept.csv')).mode & 0o777, mode)
    t.equal(String(read('kept.csv')), products)
    t.equal(String(read('kept.csv.part')), 'mine', 'what is called like a part is left alone')
    rmSync(join(home, 'kept.csv'))
  }
  rmSync(join(home, 'kept.csv.part'))
})

t.test(
  'exports of one name that overlap do not mix, and one that ends leaves nothing',
  async (t) => {
    const begun = { status: 200, headers: { 'content-type': 'text/csv' }, body: 'code\nBEGUN\n' }
    const { url } = await standIn(t, [
      { status: 200, body: { count: 2, results: [] } },
      { ...begun, ends: 'never' },
    ])
    const parts = "ls | grep -c '^both.csv.*part$'"
    const { stdout } = await shell(`
    set -m
    pricewell export products -o both.csv --url ${url} &
    until ${parts} > count; do sleep 0.02; done
    pricewell export products -o both.csv
    ${parts}
    kill -TERM -$!
    wait $!
    echo $?
    while ${parts} > count; do sleep 0.02; done
    cat count`)
    t.equal(stdout, 'both.csv: 4 rows.\n1\n143\n0\n', 'each has a part of its own')
    t.strictSame(read('both.csv'), Buffer.from((await run('export', 'products')).stdout))
  },
)

t.test('usage is 2, what is not there 1, a service away 3; no file is begun', async (t) => {
  const away = await nothingThere(t)
  const kinds =
    'products, sales, competitor-prices, agreements, promotions, prices, dynamic-attributes'
  const cases: [string[], number, string][] = [
    [
      ['stock'],
      2,
      `error: command-argument value 'stock' is invalid for argument 'kind'. Allowed choices are ${kinds}.`,
    ],
    [['prices', '-o', 'x.csv'], 2, 'Name the price list of prices: --list.'],
    [
      ['dynamic-attributes', '-o', 'x.csv'],
      2,
      'Name the price list of dynamic-attributes: --list.',
    ],
    [
      ['dynamic-attributes', '--list', 'L', '--date', '2026-01-01'],
      2,
      '--date does not apply to dynamic-attributes.',
    ],
    [['sales', '--list', 'L', '-o', 'x.csv'], 2, '--list does not apply to sales.'],
    [['sales', '--date', '2026-01-01'], 2, '--date does not apply to sales.'],
    [['sales', '-o', 'none/x.csv'], 2, 'none/x.csv cannot be written (ENOENT).'],
    [['sales', '-o', '.'], 2, '. is a folder: name a file in it.'],
    ...['x.json', 'x.xlsx.gz'].map((file): [string[], number, string] => [
      ['sales', '-o', file],
      2,
      `${file}: rows are written as .csv or .ndjson: rename it.`,
    ]),
    [['prices', '--list', 'M', '-o', 'x.csv'], 1, 'There is no price list "M".'],
    [['sales', '--url', away, '-o', 'x.csv'], 3, `${away} does not answer (ECONNREFUSED).`],
  ]
  for (const [args, exitCode, message] of cases) {
    const { code, stdout, stderr } = await run('export', ...args)
    t.strictSame([code, stdout, stderr.split('\n')[0]], [exitCode, '', message], args.join(' '))
  }
  t.notOk(existsSync(join(home, 'x.csv')))
  t.strictSame(
    readdirSync(home).filter((name) => name.endsWith('.part')),
    [],
  )
})
