import t from 'tap'
import { commandLine } from '../helpers/command-line.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { standIn } from '../helpers/stand-in.ts'
import { aUser } from '../helpers/user.ts'
import { logIn } from '../helpers/users.ts'

const service = await sharedService()
const PRICEWELL_URL = service.app.listeningOrigin
const fresh = 'another long password'

t.test('the password is changed, and the login that was kept goes on', async (t) => {
  const { email, password } = await aUser(service)
  const { run, pipe } = commandLine(t, { PRICEWELL_URL })
  await run('login', '--email', email, '--password', password)
  const changed = await pipe(`${password}\n${fresh}\n`, 'password')
  t.strictSame(changed, { code: 0, stdout: 'Password changed.\n', stderr: '' })
  t.equal((await logIn(t, service, { email, password })).status, 401)
  t.equal((await logIn(t, service, { email, password: fresh })).status, 200)
  t.equal((await run('jobs')).code, 0)
  t.match((await run('account')).stdout, `email      ${email}\n`)
})

t.test('on a terminal the new one is asked for twice, without echo', async (t) => {
  const { email, password } = await aUser(service)
  const { run, type } = commandLine(t, { PRICEWELL_URL })
  await run('login', '--email', email, '--password', password)
  const differ = await type(`${password}\r${fresh}\r${fresh}!\r`, 'password')
  t.equal(differ.code, 2)
  t.match(differ.screen, /The new passwords differ\. Nothing was changed\./)
  const { code, screen } = await type(`${password}\r${fresh}\r${fresh}\r`, 'password')
  t.equal(code, 0, screen)
  t.match(screen, /Current password: \r\nNew password: \r\nOnce more: \r\nPassword changed/)
})

t.test('what is refused changes nothing', async (t) => {
  const { email, password } = await aUser(service)
  const settings = { PRICEWELL_URL, PRICEWELL_EMAIL: email, PRICEWELL_PASSWORD: password }
  const { pipe } = commandLine(t, settings)
  const cases: [string, number, RegExp][] = [
    ['', 2, /^The current password is missing\.\n$/],
    [`${password}\n`, 2, /^The new password is missing\.\n$/],
    [`wrong\n${fresh}\n`, 4, /^The current password is wrong\./],
    [`${password}\ntoo short\n`, 1, /\n {2}\/new_password: /],
  ]
  for (const [input, expected, message] of cases) {
    const { code, stdout, stderr } = await pipe(input, 'password')
    t.strictSame([code, stdout], [expected, ''], input)
    t.match(stderr, message)
  }
  t.equal((await logIn(t, service, { email, password })).status, 200)
})

t.test('a password that was changed is told, also if the login after it fails', async (t) => {
  const token = { status: 200, body: { token: 'a.b.c' } }
  const busy = { status: 503, body: { type: 'unavailable', title: 'Busy', status: 503 } }
  const { url } = await standIn(t, [token, { status: 204, body: '' }, busy])
  const { run, pipe } = commandLine(t, { PRICEWELL_URL: url })
  await run('login', '--email', 'a@example.com', '--password', 'old password')
  const changed = await pipe(`old password\n${fresh}\n`, 'password')
  t.match(changed, { code: 3, stdout: 'Password changed.\n' })
})
