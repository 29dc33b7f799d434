import t from 'tap'
import { commandLine, userOf } from '../helpers/command-line.ts'
import { query } from '../helpers/database.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { standIn } from '../helpers/stand-in.ts'

const service = await sharedService()
const PRICEWELL_URL = service.app.listeningOrigin

t.test('a key is made, listed, used by another command, and revoked', async (t) => {
  const { token } = await service.newAccount(t)
  const { run } = userOf(t, service, { token })
  t.equal((await run('keys')).stdout, 'There are no keys.\n')
  const made = await run('keys', 'create', 'Web shop', '--scopes', 'read,plan')
  t.strictSame([made.code, made.stderr], [0, ''])
  t.match(made.stdout, /^id +\d+\nexpires +2\S+Z\nkey +pwk_\S+ {2}\(shown only once\)\n$/)
  const [, id = '', key = ''] = /^id +(\d+)[\s\S]*(pwk_\S+)/.exec(made.stdout) ?? []
  const program = commandLine(t, {
    PRICEWELL_URL,
    PRICEWELL_API_KEY: key,
    PRICEWELL_TOKEN: 'a.b.c',
  })
  t.equal((await program.run('jobs')).stdout, 'There are no jobs.\n')
  const me = JSON.parse((await program.run('account', '--json')).stdout)
  t.match(me, { user: `key:${id}`, scope: 'read plan' })
  const refused = await program.run('keys')
  t.match(refused, { code: 4, stderr: 'The token lacks the scope "admin".\n' })
  const revoked = await run('keys', 'revoke', id)
  t.strictSame(revoked, { code: 0, stdout: `Key ${id} is revoked.\n`, stderr: '' })
  const [header, row] = (await run('keys')).stdout.split('\n')
  t.match(header, /^id +name +scopes +made +expires +last used +revoked$/)
  t.match(row, new RegExp(`^ *${id} +Web shop +read,plan +2\\S+Z +2\\S+Z +2\\S+ +2\\S+Z$`))
})

t.test('--expires takes a day, and faults are told', async (t) => {
  const { token } = await service.newAccount(t)
  const { run } = userOf(t, service, { token })
  const day = new Date(Date.now() + 9 * 86_400_000).toISOString().slice(0, 10)
  const create = (expires: string) =>
    run('keys', 'create', 'N', '--scopes', 'write', '--expires', expires, '--json')
  const made = JSON.parse((await create(day)).stdout)
  t.match(made, { name: 'N', expires_at: `${day}T00:00:00.000Z`, key: /^pwk_/ })
  t.match(JSON.parse((await create(day)).stderr), { exit_code: 1, type: 'api-key-name-taken' })
  const past = await create('2020-01-01')
  t.match(JSON.parse(past.stderr), { exit_code: 1, errors: [{ pointer: '/expires_at' }] })
  t.match(await run('keys', 'revoke', '999999'), { code: 1, stderr: 'There is no such API key.\n' })
})

t.test('a key whose answer was lost is told, and what to do', async (t) => {
  const moment = new Date().toISOString()
  const body = { id: 7, name: 'N', scopes: ['read'], created_at: moment, expires_at: moment }
  const { url } = await standIn(t, [{ status: 201, body }])
  const { run } = commandLine(t, { PRICEWELL_TOKEN: 'a.b.c', PRICEWELL_URL: url })
  const { code, stderr } = await run('keys', 'create', 'N', '--scopes', 'read')
  t.equal(code, 1)
  t.match(stderr, /^The key was created, .* lost\. Revoke it \(`pricewell keys revoke 7`\)/)
})

t.test('a key that is refused says where it comes from', async (t) => {
  const { run } = commandLine(t, { PRICEWELL_URL, PRICEWELL_API_KEY: 'pwk_a.b.c' })
  const { code, stderr } = await run('jobs')
  const message = 'The token is not valid or has expired. It is the one in PRICEWELL_API_KEY.\n'
  t.strictSame([code, stderr], [4, message])
})

t.test('a key that no header can hold is refused without showing it', async (t) => {
  for (const [name, text] of [
    ['PRICEWELL_API_KEY', 'pwk_a.b.secret\nx'],
    ['PRICEWELL_TOKEN', '\ufeffsecret'],
  ] as const) {
    const { run } = commandLine(t, { PRICEWELL_URL, [name]: text })
    const { code, stderr } = await run('jobs')
    const message = `${name} has characters that no key has, such as a space or a line break.\n`
    t.strictSame([code, stderr], [4, message])
  }
})

t.test('all keys are listed, however many were made', async (t) => {
  const account = await service.newAccount(t)
  await query(
    service.url,
    `insert into api_keys (account_id, name, scopes, created_at, expires_at)
     select ${account.id}, 'key ' || i, '{read}', now(), now() + interval '1 day' from generate_series(1, 1001) i`,
  )
  const { run } = userOf(t, service, account)
  t.equal(JSON.parse((await run('keys', '--json')).stdout).length, 1001)
})
