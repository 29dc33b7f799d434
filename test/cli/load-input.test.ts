import t from 'tap'
import { userOf } from '../helpers/command-line.ts'
import { salesOf } from '../helpers/sales.ts'
import type { TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { nothingThere, standIn } from '../helpers/stand-in.ts'

const service = await sharedService()
const csv = (...ids: string[]) =>
  [
    'transaction_id,code,extension,quantity,revenue',
    ...ids.map((id) => `${id},"A\nB",UK,1,2`),
    '',
  ].join('\n')

const idsOf = async (account: TestAccount) =>
  (await salesOf(account)).map(({ transaction_id }) => transaction_id).sort()

t.test('standard input is loaded, as CSV or NDJSON', async (t) => {
  const account = await service.newAccount(t)
  const { pipe } = userOf(t, service, account)
  const loaded = await pipe(csv('A1', 'A2'), 'load', 'sales', '-')
  t.match(loaded, { code: 0, stderr: '', stdout: /^Standard input: 2 rows, 2 new, 0 updated in / })
  const sale = { transaction_id: 'N1', code: 'A', extension: 'UK', quantity: '1', revenue: '2' }
  const ndjson = await pipe(`${JSON.stringify(sale)}\n`, 'load', 'sales', '-', '--format', 'ndjson')
  t.equal(ndjson.code, 0)
  t.strictSame(await idsOf(account), ['A1', 'A2', 'N1'])
})

t.test('an empty or cut stream, or one without its rows, loads nothing', async (t) => {
  const account = await service.newAccount(t)
  const { pipe } = userOf(t, service, account)
  const rows = ['--rows', '2']
  const cases: [input: string, flags: string[], message: string][] = [
    ['', [], 'Standard input is empty. Nothing was loaded.\n'],
    [
      csv('A1', 'A2').slice(0, -1),
      [],
      'Standard input does not end with a line feed: it may be cut off. Nothing was loaded.\n',
    ],
    [csv('A1'), rows, 'Standard input has 1 row, but --rows says 2. Nothing was loaded.\n'],
    [
      csv('A', 'B', 'C'),
      rows,
      'Standard input has 3 rows, but --rows says 2. Nothing was loaded.\n',
    ],
    [csv(), rows, 'Standard input has 0 rows, but --rows says 2. Nothing was loaded.\n'],
  ]
  for (const [input, flags, stderr] of cases)
    t.strictSame(await pipe(input, 'load', 'sales', '-', ...flags), { code: 2, stdout: '', stderr })
  t.strictSame(await idsOf(account), [])
  const whole = await pipe(`${csv('A1', 'A2')}\n,,,,\n`, 'load', 'sales', '-', ...rows)
  t.equal(whole.code, 0, 'empty lines are no rows')
  t.strictSame(await idsOf(account), ['A1', 'A2'])
})

t.test('a program that fails in the middle of its output loads nothing', async (t) => {
  const account = await service.newAccount(t)
  const { shell } = userOf(t, service, account)
  const rows = 'seq -f "T%.0f,A,UK,1,2" 1 200000'
  const header = 'echo transaction_id,code,extension,quantity,revenue'
  const line = `{ ${header}; ${rows} | head -c 2000001; } | pricewell load sales -`
  t.match(await shell(line), { code: 2, stderr: /does not end with a line feed/ })
  t.strictSame(await idsOf(account), [])
})

t.test('a file may be demanded to have its rows, too', async (t) => {
  const account = await service.newAccount(t)
  const { shell } = userOf(t, service, account)
  const write = `printf '${csv('A1', 'A2').replaceAll('\n', '\\n')}' > a.csv; gzip -k a.csv; `
  for (const file of ['a.csv', 'a.csv.gz']) {
    const refused = await shell(`${write} pricewell load sales ${file} --rows 3`)
    t.match(refused, {
      code: 2,
      stderr: `${file} has 2 rows, but --rows says 3. Nothing was loaded.`,
    })
    t.strictSame(await idsOf(account), [])
  }
  t.equal((await shell('pricewell load sales a.csv.gz --rows 2')).code, 0)
  t.strictSame(await idsOf(account), ['A1', 'A2'])
  for (const end of ['\\r', '\\r\\n']) {
    const other = `printf '${csv('A1', 'A2').replaceAll('\n', end)}' > a.csv; `
    t.equal((await shell(`${other} pricewell load sales a.csv --rows 2`)).code, 0, end)
  }
})

t.test('what does not apply to standard input is wrong usage', async (t) => {
  const { run } = userOf(t, service, await service.newAccount(t))
  const cases: [string[], string][] = [
    [['-', '-'], '- takes one file at a time.'],
    [['a.csv', '-'], '- takes one file at a time.'],
    [['a.csv', 'b.csv', '--rows', '2'], '--rows takes one file at a time.'],
    [
      ['-', '--rejects', 'r.csv'],
      '--rejects does not apply to standard input, which cannot be sent again.',
    ],
    [
      ['a.csv', '--format', 'csv'],
      '--format is for standard input: the name of a file says what it is.',
    ],
  ]
  for (const [args, message] of cases)
    t.strictSame(await run('load', 'sales', ...args), {
      code: 2,
      stdout: '',
      stderr: `${message}\n`,
    })
})

t.test('a service that is killed: the message says what became of the file', async (t) => {
  const { shell } = userOf(t, service, await service.newAccount(t))
  const write = `printf '${csv('A1').replaceAll('\n', '\\n')}' > a.csv; `
  const load = (url: string) => shell(`${write} pricewell load sales a.csv --url ${url}`)
  const cut = await standIn(t, [{ status: 201, body: '{"rows"', ends: 'cut' }])
  const [killed, answering, absent] = await Promise.all([
    load((await standIn(t, Array(6).fill('destroy'))).url),
    load(cut.url),
    load(await nothingThere(t)),
  ])
  t.match(answering.stderr, /broke off in the middle of its answer\. a\.csv may have been loaded\./)
  t.equal(killed.code, 3)
  t.match(
    killed.stderr,
    /does not answer \(.*\)\. a\.csv may have been loaded\. Run the command again: .* never duplicated\.\n$/,
  )
  const later = { title: 'Title', status: 503, detail: 'Later.', instance: 'i' }
  const unknown = { status: 503, headers: { 'retry-after': '0' }, body: later }
  const answers = ['outcome-unknown', 'unavailable'].map((type) => ({
    ...unknown,
    body: { ...later, type },
  }))
  const { url } = await standIn(t, answers)
  t.match((await load(url)).stderr, /^Later\. a\.csv may have been loaded\. Run the command again/)
  const noToken = { ...unknown, status: 401, body: { ...later, status: 401, detail: 'Expired.' } }
  const expired = await standIn(t, ['destroy', noToken])
  t.match((await load(expired.url)).stderr, /^Expired\. a\.csv may have been loaded\./)
  const toPlan = await standIn(t, answers)
  t.match(
    (await shell(`pricewell load prices --list L a.csv --plan --url ${toPlan.url}`)).stderr,
    'Later. The plan may have been made: `pricewell plans` shows it.',
  )
  const toRemove = await standIn(t, answers)
  t.match(
    (await shell(`pricewell remove L --file a.csv --url ${toRemove.url}`)).stderr,
    'Later. The products in a.csv may have been removed: `pricewell log` shows it.',
  )
  t.equal(absent.code, 3)
  t.match(
    absent.stderr,
    /\(ECONNREFUSED\)\. None of a\.csv was loaded: it was not sent completely\. Run the command again\.\n$/,
  )
})
