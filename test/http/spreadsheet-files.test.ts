import { parse } from 'csv-parse/sync'
import t, { type Test } from 'tap'
import { startTestService, type TestAccount } from '../helpers/service.ts'

const path = '/api/v1/product_catalog/bulk_create_or_update/'
const csv = { 'content-type': 'text/csv' }
const service = await startTestService(t, { FEED_ROWS_MAX: '10' })

async function anAccount(t: Test): Promise<TestAccount> {
  const account = await service.newAccount(t)
  await account.post('/api/v1/product_catalog/schema/create_schema/', {
    attributes: [{ name: 'brand', type: 'string' }],
    extensions: [{ name: 'country', type: 'string' }],
    costs: [{ name: 'purchase' }],
  })
  return account
}

const load = (account: TestAccount, file: string, headers = {}) =>
  account.send('POST', path, file, { ...csv, ...headers })

const sound: Record<string, [file: string, rows: number]> = {
  'rows of empty cells': ['code,country,purchase\r\nB1,FR,1.5\r\n,,\r\n,,\r\nB2,FR,\r\n,,', 2],
  'rows of empty cells of other lengths': ['code,country\n,\n,,,,,\n""\n"",""\nB1,FR\n', 1],
  'rows of empty cells before the header': [',,\n\n,,\ncode,country,\nB1,FR,\n', 1],
  'empty columns': ['code,country,purchase,,\r\nA9,FR,1.5,,\r\nA8,FR,1.5\r\n', 2],
  'more empty cells than columns': ['code,country\nA9,FR,,,,\n', 1],
  'short rows': ['code,country,brand,purchase\r\nA,FR,x,1\r\nB,FR\r\n', 2],
  'a column of errors behind empty ones': ['code,country,,,error\nA,FR,,,is wrong\nB,FR,,,\n', 2],
  'a row of nothing but its error': ['code,country,error\nA,FR,\n,,is wrong\n', 1],
  'more empty rows than a file may have rows': [`code,country\n${',\n'.repeat(2000)}A,FR\n`, 1],
}

for (const [name, [file, rows]] of Object.entries(sound)) {
  t.test(`what a spreadsheet leaves empty is nothing: ${name}`, async (t) => {
    const account = await anAccount(t)
    t.match(await load(account, file), { status: 200, body: { rows, created: rows } })
    t.equal((await account.get('/api/v1/product_catalog/')).body.count, rows)
  })
}

const column = (number: number) => `column ${number} has a value and no heading`

const faulty: Record<
  string,
  [file: string, ...[line: number, pointer: string, message: string][]]
> = {
  'a value under an empty heading': ['code,country,,\nA,FR,,\nB,FR,,x\n', [3, '/1', column(4)]],
  'a value behind the last column': ['code,country\nA,FR,x\n', [2, '/0', column(3)]],
  'a blank under an empty heading': ['code,country,\nA,FR, \n', [2, '/0', column(3)]],
  'a value beside the error of before': [
    'code,country,,error\nA,FR,x,is wrong\n',
    [2, '/0', column(3)],
  ],
  'a column without heading between others': [
    'code,,country\nA,,FR\n',
    [1, '#/columns/', 'column 2 has no heading'],
  ],
  'cells of blanks are not empty': ['code,country\n , \nA\n', [3, '/1/country', 'is required']],
  'rows behind empty ones': [
    'code,country\n,\n\n,\n"A\nB",\n,\n,FR\n',
    [5, '/0/country', 'is required'],
    [8, '/1/code', 'is required'],
  ],
  'a missing cell that is required': [
    'code,brand,country\nA,x\n',
    [2, '/0/country', 'is required'],
  ],
  'a header behind empty rows': [
    ',\n\n,\nCode,country\n',
    [
      4,
      '#/columns/Code',
      'is not a known key; known are code, active, brand, country, purchase, extended_catalog_id',
    ],
    [4, '#/columns/code', 'is required'],
  ],
}

for (const [name, [file, ...faults]] of Object.entries(faulty)) {
  t.test(`what is not empty is told where it stands: ${name}`, async (t) => {
    const account = await anAccount(t)
    const { status, body } = await load(account, file)
    t.equal(status, 400)
    t.strictSame(
      body.errors.map(({ line, pointer, message }: Record<string, string>) => [
        line,
        pointer,
        message,
      ]),
      faults,
    )
  })
}

t.test('rejected rows with empty columns are loaded once they are corrected', async (t) => {
  const account = await anAccount(t)
  const file = 'code,country,,\nA,FR\n,,\nB,FR,,x\n,FR\n'
  const { body } = await load(account, file, { accept: 'text/csv' })
  t.strictSame(parse(body), [
    ['code', 'country', '', '', 'error'],
    ['B', 'FR', '', 'x', column(4)],
    ['', 'FR', '', '', 'code: is required'],
  ])
  const again = await load(account, body)
  t.match(again.body.errors, [{ line: 2 }, { line: 3 }], 'it has the same faults')
  const corrected = body.replace(',x,', ',,').replace('\n,FR', '\nC,FR')
  t.match(await load(account, corrected), { status: 200, body: { rows: 2, created: 2 } })
})

t.test('a file of nothing but empty rows has no header', async (t) => {
  const { status, body } = await load(await anAccount(t), ',,\n,,\n')
  t.match({ status, type: body.type }, { status: 400, type: 'malformed-file' })
  t.match(body.detail, /empty/)
})
