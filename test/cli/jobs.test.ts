import t from 'tap'
import { commandLine, userOf } from '../helpers/command-line.ts'
import { aBigJob, addAll } from '../helpers/jobs.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { type StandInAnswer, standIn } from '../helpers/stand-in.ts'

const service = await sharedService()
const PRICEWELL_URL = service.app.listeningOrigin

t.test('a job is waited for, then listed', async (t) => {
  const { shop, job } = await aBigJob(t, service)
  const { run } = userOf(t, service, shop)
  const waited = await run('wait', String(job.id))
  t.strictSame(waited, { code: 0, stdout: `Job ${job.id} is done: 101 products.\n`, stderr: '' })
  const { stdout } = await run('jobs')
  const [header, row, ...more] = stdout.split('\n')
  t.match(header, /^id +kind +list +status +finished +total +accepted +ended$/)
  t.match(row, new RegExp(`^ *${job.id} +add-products +L +done +101 +101 +2\\S+Z +2\\S+Z$`))
  t.strictSame(more, [''])
  t.equal((await run('jobs', '--status', 'failed')).stdout, 'There are no jobs.\n')
  const json = JSON.parse((await run('jobs', '--json', '--status', 'done')).stdout)
  t.match(json, [{ id: job.id, status: 'done' }])
  const again = JSON.parse((await run('--json', 'wait', String(job.id))).stdout)
  t.match(again, { id: job.id, status: 'done', progress: { total: 101, finished: 101 } })
})

t.test('of many jobs the last 25 are listed, the newest last', async (t) => {
  const { shop, job } = await aBigJob(t, service)
  const ids = [job.id]
  while (ids.length < 26) ids.push((await addAll(shop, 'L')).id)
  const { run } = userOf(t, service, shop)
  const listed = JSON.parse((await run('jobs', '--json')).stdout)
  t.strictSame(
    listed.map(({ id }: { id: number }) => id),
    ids.slice(1),
  )
})

t.test('on a terminal a bar goes to the end; NO_COLOR and pipes are plain', async (t) => {
  const { shop, job } = await aBigJob(t, service)
  const { type } = userOf(t, service, shop)
  const { code, screen } = await type('', 'wait', String(job.id))
  t.equal(code, 0)
  t.match(screen, new RegExp(`Job ${job.id} █+ 100 %`))
  const missing = await type('', 'wait', '999999')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters.
  t.match(missing.screen, /\u001b\[31mThere is no such job\.\u001b\[39m/)
  const settings = { PRICEWELL_URL, PRICEWELL_TOKEN: shop.token, NO_COLOR: '1' }
  const plain = await commandLine(t, settings).type('', 'wait', '999999')
  t.match(plain.screen, /^There is no such job\.\r\n$/m)
})

t.test('Ctrl-C ends the command while its bar goes on, and gives the cursor back', async (t) => {
  const progress = { total: 2, finished: 1, error: 0 }
  const body = `event: progress\ndata: ${JSON.stringify({ progress })}\n\n`
  const headers = { 'content-type': 'text/event-stream' }
  const { url } = await standIn(t, [{ status: 200, headers, body }])
  const { interrupt } = commandLine(t, { PRICEWELL_TOKEN: 'a.b.c' })
  const { code, screen } = await interrupt('50 %', 'wait', '7', '--url', url)
  t.equal(code, 130)
  t.ok(screen.lastIndexOf('\u001b[?25h') > screen.lastIndexOf('\u001b[?25l'))
})

t.test('Ctrl-C while a change is made by a job says where it goes on', async (t) => {
  const progress = { total: 2, finished: 1, error: 0 }
  const body = `event: progress\ndata: ${JSON.stringify({ progress })}\n\n`
  const headers = { 'content-type': 'text/event-stream' }
  const job = { id: 7, resource_type: 'price_list', progress }
  const { url } = await standIn(t, [
    { status: 200, body: job },
    { status: 200, headers, body },
  ])
  const { interrupt } = commandLine(t, { PRICEWELL_TOKEN: 'a.b.c' })
  const { code, screen } = await interrupt('50 %', 'sync', 'L', '--url', url)
  t.equal(code, 130)
  t.match(screen, 'Job 7 continues: `pricewell wait 7` follows it.')
})

t.test('a job that is not there, and one that failed, are 1', async (t) => {
  const { token } = await service.newAccount(t)
  const { run } = userOf(t, service, { token })
  const missing = await run('wait', '999999')
  t.strictSame(missing, { code: 1, stdout: '', stderr: 'There is no such job.\n' })
  const failed = {
    id: 7,
    status: 'failed',
    progress: { total: 2, finished: 1, error: 1 },
    errors: [{ code: 'internal-error', message: 'The job could not be done.' }],
  }
  const body = `event: end\ndata: ${JSON.stringify(failed)}\n\n`
  const headers = { 'content-type': 'text/event-stream' }
  const { url } = await standIn(t, [{ status: 200, headers, body }])
  const stderr = 'Job 7: failed. The job could not be done.\n'
  t.strictSame(await run('wait', '7', '--url', url), { code: 1, stdout: '', stderr })
  const json = await run('wait', '7', '--url', url, '--json')
  t.match([json.code, JSON.parse(json.stderr)], [1, { exit_code: 1, job: failed }])
})

t.test('a job that conflicts is answered with the option that helps', async (t) => {
  const errors = [{ code: 'revert-conflict', message: '2 changes cannot be undone.' }]
  const failed = { id: 7, status: 'failed', progress: { total: 2, finished: 0, error: 2 }, errors }
  const body = `event: end\ndata: ${JSON.stringify(failed)}\n\n`
  const headers = { 'content-type': 'text/event-stream' }
  const { url } = await standIn(t, [{ status: 200, headers, body }])
  const { run } = commandLine(t, { PRICEWELL_TOKEN: 'a.b.c' })
  const stderr = 'Job 7: failed. 2 changes cannot be undone.\nHere, use --skip.\n'
  t.strictSame(await run('wait', '7', '--url', url), { code: 1, stdout: '', stderr })
})

t.test('a service that leaves while a job is followed: how to find the job again', async (t) => {
  const job = { id: 7, resource_type: 'price_list', progress: { total: 1, finished: 0, error: 0 } }
  const gateway = { status: 502, headers: { 'content-type': 'text/html' }, body: 'No answer' }
  const { run } = commandLine(t, { PRICEWELL_TOKEN: 'a.b.c' })
  const leaving = async (last: StandInAnswer) => {
    const { url } = await standIn(t, [
      { status: 200, body: { count: 1, results: [{ id: 1 }] } },
      { status: 200, body: job },
      last,
    ])
    t.match(await run('revert', 'L', '--revision', '7', '--url', url), {
      ...{ code: 3, stderr: /\nJob 7 continues: `pricewell wait 7` follows it\.\n$/ },
    })
  }
  await Promise.all([leaving('destroy'), leaving(gateway)])
})

t.test('an answer that is lost: the change may have been made', async (t) => {
  const { run } = commandLine(t, { PRICEWELL_TOKEN: 'a.b.c' })
  const problem = { title: 'Title', status: 503, detail: 'Later.', instance: 'i' }
  const headers = { 'retry-after': '0' }
  const unknown = { status: 503, headers, body: { ...problem, type: 'outcome-unknown' } }
  const busy = { status: 503, headers, body: { ...problem, type: 'unavailable' } }
  const told = async (...answers: StandInAnswer[]) => {
    const { url } = await standIn(t, answers)
    const { code, stderr } = await run('sync', 'L', '--url', url)
    t.equal(code, 3)
    return stderr
  }
  const mayBe =
    'It may have been done all the same: look (`pricewell log`, `plans`, `jobs`) before '
  t.match(await told(unknown), `broke as this was being written. ${mayBe}`)
  t.match(await told(unknown, busy), `Later. ${mayBe}`)
  t.equal(await told(busy), 'Later.\n')
  const lost = await standIn(t, [
    { status: 201, body: {} },
    { ...busy, body: busy.body },
  ])
  t.equal((await run('apply', '3', '--url', lost.url)).stderr, 'Plan 3 is applied. Later.\n')
})
