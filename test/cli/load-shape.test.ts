import { gzipSync } from 'node:zlib'
import t from 'tap'
import { userOf } from '../helpers/command-line.ts'
import { salesOf } from '../helpers/sales.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aFilledList, aList, aShopOf, rowsOf } from '../helpers/shop.ts'

const service = await sharedService()

const german = '\ufeffBeleg;Artikel;extension;quantity;revenue;currency\r\n'
const shape = [
  ...['--delimiter', ';', '--decimal-comma'],
  ...['--column', 'Beleg=transaction_id', '--column', 'Artikel=code'],
]

t.test('semicolons, decimal commas and own names are rewritten on the way', async (t) => {
  const account = await service.newAccount(t)
  const file = `${german}T1;"A;1,5";UK;-1,5;1.234,50;EUR\r\n\r\nT2;A,B;;2;3;\r\n`
  const { run } = userOf(t, service, account, { 'a.csv': file, 'b.csv.gz': gzipSync(file) })
  const { code, stdout, stderr } = await run('load', 'sales', 'a.csv', 'b.csv.gz', ...shape)
  t.strictSame([code, stderr], [0, ''])
  t.match(stdout, /^a\.csv: 2 rows, 2 new, 0 updated in .*\nb\.csv\.gz: 2 rows, 0 new, 2 updated/)
  t.match(await salesOf(account), [
    { transaction_id: 'T1', code: 'A;1,5', quantity: '-1.5', revenue: '1234.50', currency: 'EUR' },
    { transaction_id: 'T2', code: 'A,B', extension: '', quantity: '2', revenue: '3' },
  ])
})

t.test('numbers and costs of the account have decimals, too; texts stay as they are', async (t) => {
  const { shop, list } = await aFilledList(t, service)
  const { run } = userOf(t, service, shop, {
    'p.csv': 'code\tcountry\tdescription\tpurchase\nA\tUK\t1,5\t2,25\n',
    'prices.csv': 'code\tcountry\tprice\nA\tUK\t3,75\n',
  })
  const flags = ['--delimiter', 'tab', '--decimal-comma']
  t.equal((await run('load', 'products', 'p.csv', ...flags)).code, 0)
  t.equal((await run('load', 'prices', 'prices.csv', '--list', 'L', ...flags)).code, 0)
  const { body } = await shop.get('/api/v1/product_catalog/')
  t.match(body.results, [{ description: '1,5', purchase: 2.25 }])
  t.match(await rowsOf(shop, list), [{ prices: { price: 3.75 } }])
})

const germanNumbers = ['--delimiter', ';', '--decimal-comma']

t.test('thousands in whole-number columns are never read as units', async (t) => {
  const columns = {
    extensions: [{ name: 'size', type: 'integer' }],
    attributes: [{ name: 'pack', type: 'integer' }],
  }
  const shop = await aShopOf(t, service, columns, [{ code: 'B', size: 1 }])
  await shop.post('/api/v1/competitor_prices/schema/create_schema/', {
    attributes_config: ['size'],
  })
  await aList(shop, { name: 'L' })
  const { run } = userOf(t, service, shop, {
    'size.csv': 'code;size;pack\nA;1.000;12\n',
    'pack.csv': 'code;size;pack\nA;1000;12.000\n',
    'competitors.csv': 'size;competitor_name;competitor_price\n1.000;Lantern;2,5\n',
    'prices.csv': 'code;size;price\nB;1.000;2,5\n',
    'good.csv': 'code;size;pack\nA;1,0;12.000,0\n',
  })
  const load = (...args: string[]) => run('load', ...args, ...germanNumbers)
  for (const args of [
    ['products', 'size.csv'],
    ['products', 'pack.csv'],
    ['competitor-prices', 'competitors.csv'],
    ['prices', 'prices.csv', '--list', 'L'],
  ])
    t.match(await load(...args), { code: 2, stderr: /000 may be a decimal or thousands\. / })
  t.equal((await load('products', 'good.csv')).code, 0)
  const { body } = await shop.get('/api/v1/product_catalog/?code=A')
  t.match(body.results, [{ size: 1, pack: 12_000 }])
})

t.test('numbers in the price line of an agreement have decimals, too', async (t) => {
  const columns = { extensions: [{ name: 'size', type: 'number' }] }
  const shop = await aShopOf(t, service, columns, [{ code: 'A', size: 1.5 }])
  const header = 'name;client_code;price_list_code;price_line.size;prices.price\n'
  const { run } = userOf(t, service, shop, { 'a.csv': `${header}Deal;C;L;1,5;2,25\n` })
  t.equal((await run('load', 'agreements', 'a.csv', ...germanNumbers)).code, 0)
  const { body } = await shop.get('/api/v1/agreement/')
  t.match(body.results, [{ price_line: { size: '1.5' }, prices: { price: 2.25 } }])
})

t.test("errors name the user's column and line, and show the cell", async (t) => {
  const account = await service.newAccount(t)
  const file = `${german}T1;"A\r\nB";UK;1;2;\r\n\r\nT2;;UK;many;3,5;EUR\r\n`
  const { run } = userOf(t, service, account, { 'a.csv': file })
  const { code, stderr } = await run('load', 'sales', 'a.csv', ...shape)
  t.equal(code, 1)
  t.match(stderr, /\n {2}line 5, Artikel: is required\n/)
  t.match(stderr, /\n {2}line 5, quantity "many": must be a decimal number /)
  const json = JSON.parse((await run('load', 'sales', 'a.csv', ...shape, '--json')).stdout)
  t.match(json.errors, [
    { line: 5, field: 'Artikel' },
    { line: 5, field: 'quantity', value: 'many' },
  ])
})

t.test('a file that is not of that shape is refused, with the line', async (t) => {
  const account = await service.newAccount(t)
  const { run } = userOf(t, service, account, {
    'a.csv': `${german}T1;A;UK;1;1.234;\n`,
    'b.csv': `${german}T1;A;UK;1;2;\nT2;"A"x;UK;1;2;\n`,
    'c.csv': 'transaction_id;code\n',
    'd.ndjson': '{}\n',
    'latin.csv': Buffer.from(`${german}T1;\xe9;UK;1;2;\n`, 'latin1'),
  })
  const cases: [file: string, code: number, message: RegExp][] = [
    [
      'a.csv',
      2,
      /^a\.csv: line 2, revenue: 1\.234 may be a decimal or thousands\. With --decimal-comma write 1234 or 1\.234,50\. Nothing was loaded\.\n/,
    ],
    ['b.csv', 1, /^b\.csv: Line 3 has something between a closing quote and the next comma\./],
    ['c.csv', 2, /^c\.csv has no column "Beleg"; it has: transaction_id, code\.\n/],
    ['d.ndjson', 2, /^d\.ndjson is not CSV/],
    ['latin.csv', 1, /^latin\.csv: Line 1 is not valid UTF-8/],
  ]
  for (const [file, code, stderr] of cases)
    t.match(await run('load', 'sales', file, ...shape), { code, stderr, stdout: '' }, file)
  t.strictSame(await salesOf(account), [])
  for (const [flag, value] of [
    ['--delimiter', ';;'],
    ['--delimiter', '"'],
    ['--column', 'Artikel'],
    ['--rows', '-1'],
  ] as const)
    t.match(await run('load', 'sales', 'a.csv', flag, value), {
      code: 2,
      stderr: /is invalid\. Must be /,
    })
  const twice = ['--column', 'Artikel=code', '--column', 'Artikel=extension']
  t.match(await run('load', 'sales', 'a.csv', ...twice), {
    ...{ code: 2, stderr: /Column "Artikel" has another name already\./ },
  })
})

t.test('columns are left out, and one that is not there is named', async (t) => {
  const account = await service.newAccount(t)
  const { run } = userOf(t, service, account, {
    'a.csv':
      'transaction_id,note,code,extension,quantity,revenue\nT1,"x\ny",A,UK,1,2\nT2,,A,UK,x,2\n',
    'b.csv': 'transaction_id;note;code;extension;quantity;revenue\nT1;"a;b";A;UK;1;2\n',
    'stray.csv': 'note;transaction_id;code;extension;quantity;more;revenue\n;T1;A;UK;1;m;2;stray\n',
  })
  const bad = await run('load', 'sales', 'a.csv', '--without', 'note')
  t.match(bad, { code: 1, stderr: /\n {2}line 4, quantity "x": / })
  const semicolons = ['--delimiter', ';']
  t.equal((await run('load', 'sales', 'b.csv', ...semicolons, '--without', 'note')).code, 0)
  t.match(await salesOf(account), [{ transaction_id: 'T1', revenue: '2' }])
  const strays = [...semicolons, '--without', 'note', '--without', 'more']
  t.match(await run('load', 'sales', 'stray.csv', ...strays), {
    ...{ code: 1, stderr: /\n {2}line 2: column 8 has a value and no heading\n/ },
  })
  t.match(await run('load', 'sales', 'a.csv', '--without', 'notes'), {
    code: 2,
    stderr: /^a\.csv has no column "notes"; it has: transaction_id, note, /,
  })
})

t.test('a refused file says which option would make it fit', async (t) => {
  const { run } = userOf(t, service, await service.newAccount(t), {
    'semicolons.csv': 'transaction_id;code;extension;quantity;revenue\nT1;A;UK;1;2\n',
    'tabs.csv': 'transaction_id\tcode\textension\tquantity\trevenue\nT1\tA\tUK\t1\t2\n',
    'more.csv': 'transaction_id,Shop,code,extension,quantity,revenue\nT1,x,A,UK,1,2\n',
    'cells.csv': 'transaction_id,code,extension,quantity,revenue\nT1,A,UK,x,2\n',
  })
  const load = async (file: string) => (await run('load', 'sales', file)).stderr
  t.match(await load('semicolons.csv'), /\nUse --delimiter ';', and --decimal-comma if /)
  t.match(await load('tabs.csv'), /\nUse --delimiter tab, and /)
  t.match(await load('more.csv'), /\nUse --column FROM=TO .*, --without NAME to leave it out; /)
  t.notMatch(await load('cells.csv'), /\nUse /)
})

t.test('rejected rows of another shape come back as CSV, and the message says so', async (t) => {
  const { run, read, write } = userOf(t, service, await service.newAccount(t), {
    'a.csv': `${german}T1;A;UK;many;1,5;EUR\n`,
  })
  const { stderr } = await run('load', 'sales', 'a.csv', '--rejects', 'r.csv', ...shape)
  t.match(
    stderr,
    /each with its error\.\nLoad them without --delimiter, --decimal-comma, --column /,
  )
  const rejects = read('r.csv')
  t.match(rejects, /^transaction_id,.*,error\r\nT1,A,UK,many,1\.5,EUR,/)
  write({ 'r.csv': rejects.replace('many', '7') })
  t.equal((await run('load', 'sales', 'r.csv')).code, 0)
})

t.test('rejected rows go to standard output, what is wrong to standard error', async (t) => {
  const { run } = userOf(t, service, await service.newAccount(t), {
    'a.csv': 'transaction_id,code,extension,quantity,revenue\nT1,A,UK,x,2\nT2,A,UK,1,2\n',
  })
  const { code, stdout, stderr } = await run('load', 'sales', 'a.csv', '--rejects', '-')
  t.equal(code, 1)
  t.match(stdout, /^transaction_id,.*,error\r\nT1,A,UK,x,2,"quantity: .*"\r\n$/)
  t.match(stderr, /line 2, quantity "x": .*\na\.csv was refused\.\n$/)
  t.match(await run('load', 'sales', 'a.csv', '--rejects', '-', '--json'), {
    code: 2,
    stderr: /--rejects - does not work with --json/,
  })
})
