import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { commandLine } from '../helpers/command-line.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { nothingThere, standIn } from '../helpers/stand-in.ts'
import { aUser } from '../helpers/user.ts'

const service = await sharedService()
const url = service.app.listeningOrigin
const fileIn = (home: string) => join(home, '.config', 'pricewell', 'login.json')

t.test('e-mail and password come from options, the environment, or standard input', async (t) => {
  const { email, password } = await aUser(service)
  const cases: [string, Record<string, string>, string[], string][] = [
    ['options', {}, ['--email', email, '--password', password], ''],
    ['environment', { PRICEWELL_EMAIL: email, PRICEWELL_PASSWORD: password }, [], ''],
    ['standard input', {}, [], `${email}\n${password}\n`],
    ['no line end', {}, ['--email', email], password],
    ['Windows line ends', {}, [], `${email}\r\n${password}\r\n`],
    ['options win', { PRICEWELL_EMAIL: 'no@example.com' }, ['--email', email], password],
  ]
  for (const [name, settings, args, input] of cases) {
    const { home, pipe } = commandLine(t, settings)
    const { code, stdout, stderr } = await pipe(input, 'login', '--url', url, ...args)
    const message = `Logged in at ${url} as ${email}; saved in ${fileIn(home)}.\n`
    t.strictSame([code, stdout, stderr], [0, message, ''], name)
  }
})

t.test('the token is kept for the user alone, the password is not', async (t) => {
  const { email, password } = await aUser(service)
  const { home, run } = commandLine(t)
  mkdirSync(join(home, '.config', 'pricewell'), { recursive: true })
  writeFileSync(fileIn(home), 'old')
  chmodSync(fileIn(home), 0o666)
  await run('login', '--url', `${url}/`, '--email', email, '--password', password)
  t.equal(statSync(fileIn(home)).mode & 0o777, 0o600)
  const login = JSON.parse(readFileSync(fileIn(home), 'utf8'))
  t.match(login, { url, email, token: /^[\w-]+\.[\w-]+\.[\w-]+$/ })
  t.notMatch(readFileSync(fileIn(home), 'utf8'), password)
  const { code, stdout } = await run('jobs')
  t.strictSame([code, stdout], [0, 'There are no jobs.\n'], 'the other commands use it')
})

t.test('XDG_CONFIG_HOME moves the file', async (t) => {
  const { email, password } = await aUser(service)
  const elsewhere = t.testdir({})
  const { home, run } = commandLine(t, { XDG_CONFIG_HOME: elsewhere, PRICEWELL_URL: url })
  t.equal((await run('login', '--email', email, '--password', password)).code, 0)
  t.ok(existsSync(join(elsewhere, 'pricewell', 'login.json')))
  t.notOk(existsSync(fileIn(home)))
})

t.test('a refused login is 4 and keeps nothing', async (t) => {
  const { email } = await aUser(service)
  const { home, run } = commandLine(t, { PRICEWELL_URL: url })
  const refused = await run('login', '--email', email, '--password', 'wrong')
  t.strictSame([refused.code, refused.stdout], [4, ''])
  const message = 'There is no user with this e-mail and password.\n'
  t.equal(refused.stderr, message, 'another log-in is no advice')
  const json = await run('login', '--email', email, '--password', 'wrong', '--json')
  t.match(JSON.parse(json.stderr), { exit_code: 4, type: 'unauthorized', status: 401 })
  t.notOk(existsSync(fileIn(home)))
})

t.test('a logout forgets the login', async (t) => {
  const { email, password } = await aUser(service)
  const { home, run } = commandLine(t, { PRICEWELL_URL: url })
  await run('login', '--email', email, '--password', password)
  const logout = await run('logout')
  t.strictSame(logout, { code: 0, stdout: `Logged out at ${url}.\n`, stderr: '' })
  t.notOk(existsSync(fileIn(home)))
  t.equal((await run('jobs')).code, 4)
  t.match(await run('logout'), { code: 0, stdout: 'There is no login.\n' })
})

t.test('what is missing at the end of the input is wrong usage', async (t) => {
  const { pipe } = commandLine(t, { PRICEWELL_URL: url })
  for (const [input, missing] of [
    ['', 'e-mail'],
    ['\n', 'e-mail'],
    ['ana@acme.example\n', 'password'],
  ] as const) {
    const { code, stderr } = await pipe(input, 'login')
    t.strictSame([code, stderr], [2, `The ${missing} is missing.\n`])
  }
})

t.test('a service that is not there is 3', async (t) => {
  const away = await nothingThere(t)
  const { run } = commandLine(t)
  const { code, stderr } = await run('login', '--url', away, '--email', 'a@b', '--password', 'p')
  t.strictSame([code, stderr], [3, `${away} does not answer (ECONNREFUSED).\n`])
})

t.test('a saved token goes to no other service', async (t) => {
  const { email, password } = await aUser(service)
  const { run } = commandLine(t)
  await run('login', '--url', url, '--email', email, '--password', password)
  const other = await standIn(t, [{ status: 200, body: {} }])
  const { code, stderr } = await run('jobs', '--url', other.url)
  const message = `There is no login at ${other.url}. Log in with \`pricewell login\`.\n`
  t.strictSame([code, stderr, other.requests.length], [4, message, 0])
})

t.test('a login that has expired says so, and what to do', async (t) => {
  const { home, run } = commandLine(t)
  mkdirSync(join(home, '.config', 'pricewell'), { recursive: true })
  writeFileSync(fileIn(home), JSON.stringify({ url, email: 'ana@acme.example', token: 'a.b.c' }))
  const { code, stderr } = await run('jobs')
  t.equal(code, 4)
  t.equal(stderr, 'The token is not valid or has expired. Log in with `pricewell login`.\n')
})

t.test('where the environment says who asks, a login would not help', async (t) => {
  const { run } = commandLine(t, { PRICEWELL_URL: url, PRICEWELL_TOKEN: 'a.b.c' })
  const token = await run('jobs')
  t.match(token, {
    code: 4,
    stderr: /expired\. It is the one in PRICEWELL_TOKEN\. Set another, or none/,
  })
  const user = { PRICEWELL_EMAIL: 'ana@acme.example', PRICEWELL_PASSWORD: 'wrong' }
  const other = await commandLine(t, { PRICEWELL_URL: url, ...user }).run('jobs')
  t.match(other, {
    code: 4,
    stderr: /They are the ones in PRICEWELL_EMAIL and PRICEWELL_PASSWORD\.\n$/,
  })
})

t.test('a login that cannot be kept says what to do instead', async (t) => {
  const { email, password } = await aUser(service)
  const { run } = commandLine(t, { PRICEWELL_URL: url, XDG_CONFIG_HOME: '/dev/null' })
  const { code, stdout, stderr } = await run('login', '--email', email, '--password', password)
  t.strictSame([code, stdout], [2, ''])
  t.match(
    stderr,
    /^The login cannot be saved: ENOTDIR: .*\. Set XDG_CONFIG_HOME to a writable folder/,
  )
})

t.test('e-mail and password of the environment need no login', async (t) => {
  const { email, password } = await aUser(service)
  const settings = { PRICEWELL_URL: url, PRICEWELL_EMAIL: email, PRICEWELL_PASSWORD: password }
  const { code, stdout } = await commandLine(t, settings).run('jobs', '--json')
  t.strictSame([code, stdout], [0, '[]\n'])
})

t.test('a login that asks for nothing leaves standard input to others', async (t) => {
  const { email, password } = await aUser(service)
  const settings = { PRICEWELL_EMAIL: email, PRICEWELL_PASSWORD: password }
  const { shell } = commandLine(t, settings)
  const line = `printf '%s\\n' ${url} ${url} | while read -r u; do pricewell login --json --url $u; done`
  const { code, stdout } = await shell(line)
  t.equal(code, 0)
  t.equal(stdout.trim().split('\n').length, 2)
})

t.test('on a terminal both are asked for, the password without echo', async (t) => {
  const { email, password } = await aUser(service)
  const { type } = commandLine(t, { PRICEWELL_URL: url })
  const { code, screen } = await type(`${email}\r${password}\r`, 'login')
  t.equal(code, 0, screen)
  t.match(screen, /E-mail: /)
  t.match(screen, /Password: \r\n/)
  t.match(screen, /Logged in at/)
  // Input that comes before the question is echoed by the terminal itself; what follows the question must not be.
  t.notMatch(screen.slice(screen.indexOf('Password: ')), password)
})
