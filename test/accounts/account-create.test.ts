import pg from 'pg'
import t from 'tap'
import { send } from '../helpers/operations.ts'
import { runFile } from '../helpers/process.ts'
import { aSale } from '../helpers/sales.ts'
import { startTestService } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { select } from '../helpers/sql.ts'

const main = 'src/cli/main.ts'
const service = await sharedService()

function create(...args: string[]) {
  return runFile(main, ['account', 'create', '--json', ...args], { DATABASE_URL: service.url })
}

async function count(table: 'accounts' | 'users'): Promise<number> {
  const client = new pg.Client({ connectionString: service.url })
  await client.connect()
  const { rows } = await client.query(`select count(*)::int as count from ${table}`)
  await client.end()
  return rows[0].count
}

async function logIn(user: { email: string; password: string }) {
  return send(t, service, {
    method: 'POST',
    path: '/login/',
    headers: { 'content-type': 'application/json' },
    payload: JSON.stringify({ email: user.email, password: user.password }),
  })
}

async function accountOf(user: { email: string; password: string }): Promise<number> {
  const { body } = await logIn(user)
  return JSON.parse(Buffer.from(body.token.split('.')[1], 'base64url').toString()).account
}

t.test('prints one line of JSON with a password that logs in', async (t) => {
  const { code, stdout, stderr } = await create('--account', 'First', '--email', 'a@example.com')
  t.strictSame([code, stderr], [0, ''])
  t.match(stdout, /^\{[^\n]*\}\n$/, 'one line')
  const user = JSON.parse(stdout)
  t.strictSame(Object.keys(user), ['account', 'email', 'password', 'account_id'])
  t.match(user, { account: 'First', email: 'a@example.com' })
  t.ok(user.password.length >= 20, 'nobody guesses it')
  t.equal(await accountOf(user), user.account_id, 'the id that tokens name')
  const hashed = `select password_hash as hash from users where email = '${user.email}'`
  t.match(await select(service.url, hashed), [{ hash: /^scrypt:65536:8:1:/ }])
})

t.test('a second user comes into the same account, another name is another account', async (t) => {
  const first = await create('--account', 'Shared', '--email', 'b1@example.com')
  const second = await create('--account', 'Shared', '--email', 'b2@example.com')
  const other = await create('--account', 'shared', '--email', 'b3@example.com')
  const accounts: number[] = []
  // One after the other: a process checks two passwords at a time, and lets others wait for seconds only.
  for (const { stdout } of [first, second, other])
    accounts.push(await accountOf(JSON.parse(stdout)))
  const [a, b, c] = accounts
  t.equal(a, b)
  t.not(a, c)
})

t.test('a user is added to an account while its products are written', async (t) => {
  await create('--account', 'Busy', '--email', 'c1@example.com')
  const writer = new pg.Client({ connectionString: service.url })
  await writer.connect()
  t.teardown(() => writer.end())
  await writer.query(`begin; select from accounts where name = 'Busy' for key share`)
  t.equal((await create('--account', 'Busy', '--email', 'c2@example.com')).code, 0)
  await writer.query('commit')
})

t.test(
  'the token of an account that a restored state does not have opens no later one',
  async (t) => {
    const restored = await startTestService(t)
    const lost = await restored.newAccount(t)
    await select(restored.url, 'truncate accounts restart identity cascade')
    const later = await restored.newAccount(t)
    await later.post('/api/v1/sales_history/bulk_create_or_update/', [aSale()])
    t.match((await later.get('/api/v1/sales_history/')).body, { count: 1 })
    t.match((await lost.get('/api/v1/sales_history/')).body, { count: 0 })
    t.match(await lost.post('/api/v1/sales_history/bulk_create_or_update/', [aSale()]), {
      status: 401,
    })
  },
)

t.test('a password of one’s own is taken', async (t) => {
  const password = 'my own pass wörd'
  const { stdout } = await create(
    '--account',
    'Own',
    '--email',
    'c@example.com',
    '--password',
    password,
  )
  t.equal(JSON.parse(stdout).password, password)
  t.equal((await logIn({ email: 'c@example.com', password })).status, 200)
})

t.test('an e-mail that is taken fails plainly and changes nothing', async (t) => {
  const { stdout: created } = await create('--account', 'Taken', '--email', 'd@example.com')
  const before = [await count('accounts'), await count('users')]
  for (const account of ['Taken', 'Another']) {
    const { code, stdout, stderr } = await create('--account', account, '--email', 'd@example.com')
    t.strictSame([code, stdout], [1, ''])
    const message = 'There is a user with the e-mail d@example.com already.'
    t.strictSame(JSON.parse(stderr), { exit_code: 1, message })
  }
  t.strictSame([await count('accounts'), await count('users')], before)
  t.equal((await logIn(JSON.parse(created))).status, 200, 'the first user still logs in')
})

t.test('--init is ignored with DATABASE_URL', async (t) => {
  const args = ['--account', 'Init', '--email', 'init@example.com', '--init']
  const created = await create(...args)
  t.match(JSON.parse(created.stdout), { account: 'Init' })
  t.equal((await create(...args)).code, 1, 'there is one already')
})

t.test('two at once for one e-mail: one is created', async (t) => {
  const runs = await Promise.all(
    ['e', 'e'].map((name) => create('--account', 'Race', '--email', `${name}@example.com`)),
  )
  t.strictSame(runs.map(({ code }) => code).sort(), [0, 1])
})

t.test(
  'for people it is four lines, and a password that was made is shown only once',
  async (t) => {
    const args = ['account', 'create', '--account', 'People', '--email', 'p@example.com']
    const { stdout } = await runFile(main, args, { DATABASE_URL: service.url })
    t.match(
      stdout,
      /^Account {3}People\nid {8}\d+\ne-mail {4}p@example\.com\npassword {2}\S{20,} {2}\(shown only once\)\n$/,
    )
  },
)

t.test('bad arguments are wrong usage and change nothing', async (t) => {
  const before = [await count('accounts'), await count('users')]
  const invalid = (option: string, value: string, why: string) =>
    `option '${option}' argument '${value}' is invalid. ${why}`
  const email = (value: string) => invalid('--email <email>', value, 'Must be an e-mail address.')
  const password = (value: string) =>
    invalid('--password <password>', value, 'Must be 8 to 255 characters.')
  const account = (value: string) =>
    invalid('--account <name>', value, 'Must be 1 to 255 characters.')
  const long = `${'f'.repeat(255)}@x`
  const cases: [string[], string][] = [
    [[], "required option '--account <name>' not specified"],
    [['--account', 'A'], "required option '--email <email>' not specified"],
    [['--email', 'f@example.com'], "required option '--account <name>' not specified"],
    [['--account', '', '--email', 'f@example.com'], account('')],
    [['--account', 'A', '--email', 'f'], email('f')],
    [['--account', 'A', '--email', 'f@x y'], email('f@x y')],
    [['--account', 'A', '--email', 'f@@x'], email('f@@x')],
    [['--account', 'A', '--email', long], email(long)],
    [['--account', 'x'.repeat(256), '--email', 'f@x'], account('x'.repeat(256))],
    [['--account', 'A', '--email', 'f@x', '--password', 'short'], password('short')],
    [
      ['--account', 'A', '--email', 'f@x', '--password', 'x'.repeat(256)],
      password('x'.repeat(256)),
    ],
    [['--account', 'A', '--email', 'f@x', '--password', ''], password('')],
    [['--account', 'A', '--email', 'f@x', '--role', 'admin'], "unknown option '--role'"],
    [
      ['--account', 'A', '--email', 'f@x', 'more'],
      "too many arguments for 'create'. Expected 0 arguments but got 1.",
    ],
  ]
  for (const [args, expected] of cases) {
    const { code, stdout, stderr } = await create(...args)
    const said = `${JSON.stringify({ exit_code: 2, message: expected })}\n`
    t.strictSame([code, stdout, stderr], [2, '', said], args.join(' ').slice(0, 60))
  }
  t.strictSame([await count('accounts'), await count('users')], before)
})

t.test('a database that is not there fails plainly', async (t) => {
  const user = ['--account', 'A', '--email', 'g@example.com', '--password', 'a secret of mine']
  const away = await runFile(main, ['account', 'create', ...user], {
    DATABASE_URL: 'postgresql://nobody:hidden@127.0.0.1:1/none',
  })
  t.strictSame([away.code, away.stdout], [1, ''])
  t.match(away.stderr, /ECONNREFUSED/)
  t.notMatch(away.stderr, /hidden|a secret of mine/)
})
