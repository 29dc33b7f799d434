import t from 'tap'
import { anApiKey } from '../helpers/api-keys.ts'
import { commandLine, userOf } from '../helpers/command-line.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { standIn } from '../helpers/stand-in.ts'
import { aUser } from '../helpers/user.ts'

const service = await sharedService()
const url = service.app.listeningOrigin

t.test('tells who the login is', async (t) => {
  const { email, password } = await aUser(service)
  const { run } = commandLine(t)
  await run('login', '--url', url, '--email', email, '--password', password)
  const { code, stdout, stderr } = await run('account')
  t.strictSame([code, stderr], [0, ''])
  t.match(stdout, new RegExp(`^service +${url}\nemail +${email}\naccount +\\d+\nuser +\\d+\n`))
  t.match(stdout, /scope +read plan write override admin\nexpires +\d{4}-\d\d-\d\dT\S+Z\n$/)
  const json = JSON.parse((await run('account', '--json')).stdout)
  t.match(json, { service: url, email, scope: 'read plan write override admin' })
})

t.test('tells who the environment is', async (t) => {
  const { email, password } = await aUser(service)
  const user = { PRICEWELL_URL: url, PRICEWELL_EMAIL: email, PRICEWELL_PASSWORD: password }
  t.match((await commandLine(t, user).run('account')).stdout, new RegExp(`email +${email}\n`))
  const { id, token } = await service.newAccount(t)
  const given = userOf(t, service, { token })
  t.match(JSON.parse((await given.run('account', '--json')).stdout), { account: id })
})

t.test('a key that may manage users only is valid, too', async (t) => {
  const { key, id } = await anApiKey(await service.newAccount(t), { scopes: ['admin'] })
  const { run } = commandLine(t, { PRICEWELL_URL: url, PRICEWELL_API_KEY: key })
  const { code, stdout } = await run('account')
  t.equal(code, 0)
  t.match(stdout, new RegExp(`user +key:${id}\nscope +admin\n`))
})

t.test('a user of an identity provider has a name in any script', async (t) => {
  const claims = { account: 1, sub: 'Jörg 日本', scope: 'read', exp: 2_000_000_000 }
  const payload = Buffer.from(JSON.stringify(claims)).toString('base64url')
  const answer = { status: 200, body: { count: 0, results: [] } }
  const settings = { PRICEWELL_URL: (await standIn(t, [answer])).url }
  const { run } = commandLine(t, { ...settings, PRICEWELL_TOKEN: `h.${payload}.s` })
  t.match((await run('account')).stdout, /^user +Jörg 日本$/m)
})

t.test('what the service does not take any more is 4', async (t) => {
  const { run } = commandLine(t, { PRICEWELL_URL: url, PRICEWELL_TOKEN: 'a.b.c' })
  const { code, stdout } = await run('account')
  t.strictSame([code, stdout], [4, ''])
})
