import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { commandLine, userOf } from '../helpers/command-line.ts'
import { salesOf } from '../helpers/sales.ts'
import { startTestService } from '../helpers/service.ts'
import { addProducts, aList, aShop, rowsOf } from '../helpers/shop.ts'
import { type StandInAnswer, standIn } from '../helpers/stand-in.ts'

const service = await startTestService(t, { FEED_JOB_MB: '1' })
await service.app.listen({ port: 0 })
const csv = (...rows: string[]) =>
  ['transaction_id,code,extension,quantity,revenue', ...rows, ''].join('\n')
const good = csv('T1,A,UK,1,2', 'T2,A,UK,1,2')

async function aUserWith(t: Test, files: Record<string, string | Buffer>) {
  const account = await service.newAccount(t)
  const { run, write } = userOf(t, service, account, files)
  const jobs = async () => (await account.get('/api/v1/jobs/')).body.count
  return { account, run, jobs, write }
}

t.test('a job loads the files, each is followed, also one that was loaded before', async (t) => {
  const files = { 'a.csv': good, 'b.csv.gz': gzipSync(csv('T2,A,UK,1,2', 'T3,A,UK,1,2')) }
  const { account, run, jobs } = await aUserWith(t, files)
  const { code, stdout, stderr } = await run('load', 'sales', 'a.csv', 'b.csv.gz', '--job')
  t.strictSame([code, stderr], [0, ''])
  t.match(
    stdout,
    /^a\.csv: 2 rows, 2 new, 0 updated in .*\nb\.csv\.gz: 2 rows, 1 new, 1 updated \(1 unchanged\) in /,
  )
  t.equal(await jobs(), 2)
  t.equal((await salesOf(account)).length, 3)
  for (const [flags, count] of [
    [['--job'], 3],
    [[], 3],
  ] as const) {
    const again = await run('load', 'sales', 'a.csv', ...flags)
    t.match(again, { code: 0, stdout: /^a\.csv: 2 rows, 0 new, 2 updated \(2 unchanged\) in / })
    t.equal(await jobs(), count)
  }
})

t.test('a large file is loaded by a job, unasked', async (t) => {
  const ids = Array.from({ length: 60_000 }, (_, index) => `LARGE-${index}`)
  const large = csv(...ids.map((id) => `${id},A,UK,1,2`))
  t.ok(large.length > 1024 * 1024)
  const { run, jobs } = await aUserWith(t, { 'a.csv': large, 'b.csv': good })
  const { code, stdout } = await run('load', 'sales', 'a.csv', 'b.csv')
  t.equal(code, 0)
  t.match(stdout, /^a\.csv: 60,000 rows, 60,000 new, 0 updated in .*\nb\.csv: 2 rows, 2 new/)
  t.equal(await jobs(), 1)
})

t.test('a file that the job refuses names its lines; the others are loaded', async (t) => {
  const files = { 'bad.csv': csv('T1,,UK,x,2'), 'good.csv': good }
  const { account, run, jobs } = await aUserWith(t, files)
  const { code, stdout, stderr } = await run('load', 'sales', 'bad.csv', 'good.csv', '--job')
  t.equal(code, 1)
  t.match(stdout, /^good\.csv: 2 rows/)
  t.match(
    stderr,
    /^bad\.csv: 2 errors\. Nothing was written\.\n {2}line 2, code: is required\n {2}line 2, q/,
  )
  t.match(stderr, /Refused: 1 of 2 files\.\n$/)
  t.equal((await salesOf(account)).length, 2)
  const again = await run('load', 'sales', 'bad.csv', '--job', '--json')
  t.match(JSON.parse(again.stdout), {
    type: 'invalid-request',
    error_count: 2,
    errors: [{ line: 2 }, {}],
  })
  t.equal(await jobs(), 3)
})

t.test('prices of a list are loaded by a job; what fails otherwise ends the command', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const list = await aList(shop, { name: 'L' })
  const files = { 'p.csv': 'code,country,price\nA,UK,7.25\n' }
  const { run } = userOf(t, service, shop, files)
  const load = () => run('load', 'prices', '--list', 'L', 'p.csv', '--job')
  const unpublished = await load()
  t.equal(unpublished.code, 1)
  t.match(unpublished.stderr, /^Job \d+: failed\. The price list is not published yet/)
  await addProducts(shop, 'L', [{ code: 'A', country: 'UK' }])
  t.equal((await load()).code, 0)
  t.match(await rowsOf(shop, list), [{ prices: { price: 7.25 } }])
  const { body } = await shop.get('/api/v1/jobs/?order=newest')
  const waited = await run('wait', String(body.results[0].id))
  t.match(waited.stdout, /is done: 1 rows\./)
})

/** What a service answers that has accepted a file for a job, which is then followed to this end, or for ever. */
function jobThat(status?: string): StandInAnswer[] {
  const progress = { total: 2, finished: 1, error: 0 }
  const info = { id: 7, status: 'progress', resource_type: 'file', progress }
  const job = { ...info, created_at: '2026-01-01T00:00:00Z', errors: [], status }
  const begun = `event: progress\ndata: ${JSON.stringify(info)}\n\n`
  const end = `event: end\ndata: ${JSON.stringify(job)}\n\n`
  const events = { status: 200, headers: { 'content-type': 'text/event-stream' } }
  const followed = status ? { body: `${begun}${end}` } : { body: begun, ends: 'never' as const }
  return [
    { status: 202, body: info },
    { ...events, ...followed },
  ]
}

async function aUserOf(t: Test, answers: StandInAnswer[]) {
  const { url, requests } = await standIn(t, answers)
  const user = commandLine(t, { PRICEWELL_URL: url, PRICEWELL_TOKEN: 'a.b.c' })
  user.write({ 'a.csv': good })
  return { ...user, requests }
}

t.test('a job that is cancelled while it is followed stays so', async (t) => {
  const { run, requests } = await aUserOf(t, jobThat('cancelled'))
  const { code, stderr } = await run('load', 'sales', 'a.csv', '--job')
  t.match({ code, stderr }, { code: 1, stderr: /^Job 7: cancelled\.\n$/ })
  t.equal(requests.length, 2)
})

t.test(
  'a command that is ended before the answer says what may have become of its file',
  async (t) => {
    const { interrupt } = await aUserOf(t, ['silence'])
    const { code, screen } = await interrupt('100 %', 'load', 'sales', 'a.csv')
    t.equal(code, 130)
    t.match(screen, 'Interrupted. a.csv may have been loaded. Run the command again')
  },
)

t.test('a command that is ended, or hears no more, says where its job goes on', async (t) => {
  const message = 'Job 7 continues with a.csv: `pricewell wait 7` follows it.'
  const { interrupt } = await aUserOf(t, jobThat())
  const { code, screen } = await interrupt('50 %', 'load', 'sales', 'a.csv', '--job')
  t.equal(code, 130)
  t.match(screen, message)
  const [accepted] = jobThat() as [StandInAnswer]
  const problem = {
    type: 'unauthorized',
    title: 'T',
    status: 401,
    detail: 'Expired.',
    instance: 'i',
  }
  const { run } = await aUserOf(t, [accepted, { status: 401, body: problem }])
  const { stderr } = await run('load', 'sales', 'a.csv', '--job')
  t.ok(stderr.startsWith('Expired.') && stderr.endsWith(`\n${message}\n`), stderr)
  const { run: runAgain } = await aUserOf(t, [accepted, { status: 401, body: problem }])
  const told = await runAgain('load', 'sales', 'a.csv', '--job', '--json')
  const lines = told.stderr.trim().split('\n')
  t.match(
    lines.map((line) => JSON.parse(line)),
    [{ exit_code: 4 }, { message, job_id: 7 }],
  )
})

t.test('a job gives no file back', async (t) => {
  const { run } = await aUserWith(t, { 'a.csv': good })
  const { code, stderr } = await run('load', 'sales', 'a.csv', '--job', '--rejects', 'r.csv')
  t.match({ code, stderr }, { code: 2, stderr: /--rejects does not apply to a job/ })
})
