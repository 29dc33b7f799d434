import t from 'tap'
import { commandLine, userOf } from '../helpers/command-line.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { standIn } from '../helpers/stand-in.ts'
import { anAdmin, anEmail } from '../helpers/users.ts'

const service = await sharedService()
const PRICEWELL_URL = service.app.listeningOrigin

/** The id and the password that a command shows. */
function shown(stdout: string): { id: string; password: string } {
  const [, id = '', password = ''] =
    /^id +(\d+)\ne-mail +\S+\npassword +(\S{20,}) {2}\(shown only once\)\n$/.exec(stdout) ?? []
  return { id, password }
}

t.test('a user is added, logs in, is changed, reset and removed', async (t) => {
  const admin = await anAdmin(t, service)
  const { run } = userOf(t, service, admin)
  const email = anEmail()
  const added = await run('users', 'add', email, '--scopes', 'read,plan')
  t.strictSame([added.code, added.stderr], [0, ''])
  const { id, password } = shown(added.stdout)
  const analyst = commandLine(t, {
    PRICEWELL_URL,
    PRICEWELL_EMAIL: email,
    PRICEWELL_PASSWORD: password,
  })
  t.match(JSON.parse((await analyst.run('account', '--json')).stdout), { scope: 'read plan' })
  const refused = await analyst.run('users')
  t.match(refused, { code: 4, stderr: 'The token lacks the scope "admin".\n' })
  const changed = await run('users', 'scopes', id, 'read')
  t.match(
    changed.stdout,
    new RegExp(`^id +e-mail +scopes +added\n *${id} +${email} +read +2\\S+Z\n$`),
  )
  const reset = shown((await run('users', 'reset', id)).stdout)
  t.equal(reset.id, id)
  t.equal((await analyst.run('jobs')).code, 4, 'the old password')
  const [header, , row] = (await run('users')).stdout.split('\n')
  t.match(header, /^id +e-mail +scopes +added$/)
  t.match(row, new RegExp(`^ *${id} +${email} +read +2\\S+Z$`))
  const removed = await run('users', 'remove', id)
  t.strictSame(removed, { code: 0, stdout: `User ${id} is deleted.\n`, stderr: '' })
  t.match(JSON.parse((await run('users', '--json')).stdout), [{ email: admin.email }])
})

t.test('a user may be named by e-mail, in any case', async (t) => {
  const admin = await anAdmin(t, service)
  const { run } = userOf(t, service, admin)
  const email = anEmail()
  const { id } = shown((await run('users', 'add', email, '--scopes', 'read')).stdout)
  t.match((await run('users', 'scopes', email, 'plan')).stdout, `${email}  plan`)
  t.equal(shown((await run('users', 'reset', email.toUpperCase())).stdout).id, id)
  const absent = { code: 1, stdout: '', stderr: 'There is no user nobody@acme.example.\n' }
  for (const args of [
    ['scopes', 'nobody@acme.example', 'read'],
    ['remove', 'nobody@acme.example'],
  ])
    t.strictSame(await run('users', ...args), absent)
  t.equal((await run('users', 'remove', email)).stdout, `User ${id} is deleted.\n`)
  t.match(await run('users', 'reset', 'ben'), { code: 2, stderr: /Must be a whole number/ })
})

t.test('faults are told', async (t) => {
  const admin = await anAdmin(t, service)
  const { run } = userOf(t, service, admin)
  const [{ id }] = JSON.parse((await run('users', '--json')).stdout)
  const last = await run('users', 'remove', String(id))
  t.match(last, { code: 1, stderr: /^No other user has the scope "admin"/ })
  t.match(await run('users', 'reset', '999999999'), { code: 1, stderr: 'There is no such user.\n' })
  const taken = await run('users', 'add', admin.email, '--scopes', 'read', '--json')
  t.match(JSON.parse(taken.stderr), { exit_code: 1, type: 'email-taken' })
  const wrong = await run('users', 'add', 'ben', '--scopes', 'read')
  t.match(wrong, { code: 1, stderr: /\n {2}\/email: / })
})

t.test('a password whose answer was lost is told, and what to do', async (t) => {
  const body = { id: 7, email: 'ben@acme.example', scopes: ['read'] }
  const { url } = await standIn(t, [{ status: 201, body }])
  const { run } = commandLine(t, { PRICEWELL_TOKEN: 'a.b.c', PRICEWELL_URL: url })
  const { code, stderr } = await run('users', 'add', 'ben@acme.example', '--scopes', 'read')
  t.equal(code, 1)
  t.match(stderr, /^It was done, .* lost\. Set another: `pricewell users reset 7`\.\n$/)
})
