import { mock } from 'node:test'
import { setImmediate as nextLoop } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createAccount } from '../../src/accounts/create-account.ts'
import { countFailure, withinLoginLimits } from '../../src/accounts/login-limit.ts'
import { passwordCost } from '../../src/accounts/password.ts'
import { setClock } from '../helpers/clocks.ts'
import { expectProblem, send } from '../helpers/operations.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { select } from '../helpers/sql.ts'

const service = await sharedService()
const password = 'correct horse battery staple'
let users = 0

async function aUser(account = 'shop'): Promise<{ email: string; password: string }> {
  const email = `user${++users}@example.com`
  await createAccount(service.url, { account, email, password })
  return { email, password }
}

let emails = 0
/** Runs work as the login of an e-mail of its own. */
const onSeat = <T>(work: () => Promise<T>) => withinLoginLimits(`seat${++emails}@example.com`, work)

function login(t: Test, body: unknown, headers: Record<string, string> = {}) {
  const payload = typeof body === 'string' ? body : JSON.stringify(body)
  const type = { 'content-type': 'application/json', ...headers }
  return send(t, service, { method: 'POST', path: '/login/', headers: type, payload })
}

t.test('an e-mail and its password are answered with a token that works', async (t) => {
  const user = await aUser()
  const { status, body } = await login(t, user)
  t.equal(status, 200)
  t.strictSame(Object.keys(body), ['token'])
  const headers = { authorization: `jwt ${body.token}`, 'content-type': 'application/json' }
  const path = '/api/v1/price_list/'
  t.equal((await send(t, service, { method: 'GET', path, headers })).status, 200, 'it reads')
  const sale = { transaction_id: 'T', code: 'C', extension: '', quantity: '1', revenue: '1' }
  const written = await send(t, service, {
    method: 'POST',
    path: '/api/v1/sales_history/bulk_create_or_update',
    headers,
    payload: JSON.stringify([sale]),
  })
  t.equal(written.status, 201, 'it writes')
  const claims = JSON.parse(Buffer.from(body.token.split('.')[1], 'base64url').toString())
  t.equal(claims.exp - claims.iat, 24 * 3600, 'it is valid for 24 hours')
  t.notMatch(JSON.stringify(claims), user.email, 'it names nobody')
})

t.test('users of one account share it, others do not see it', async (t) => {
  const [first, second, other] = [await aUser('one'), await aUser('one'), await aUser('two')]
  const accountOf = async (user: object) => {
    const { body } = await login(t, user)
    return JSON.parse(Buffer.from(body.token.split('.')[1], 'base64url').toString()).account
  }
  t.equal(await accountOf(first), await accountOf(second))
  t.not(await accountOf(first), await accountOf(other))
})

t.test('a wrong password and an unknown e-mail answer alike', async (t) => {
  const user = await aUser()
  const wrong = await login(t, { ...user, password: `${password}x` })
  const unknown = await login(t, { ...user, email: 'nobody@example.com' })
  for (const answer of [wrong, unknown]) {
    expectProblem(t, answer, 401, 'unauthorized', 'refused')
    t.equal(answer.headers['www-authenticate'], 'jwt')
  }
  t.strictSame({ ...wrong.body, instance: '' }, { ...unknown.body, instance: '' })
  for (const other of [
    password.toUpperCase(),
    ` ${password}`,
    `${password} `,
    password.slice(1),
    ' ',
  ])
    t.equal((await login(t, { ...user, password: other })).status, 401, `"${other}"`)
})

t.test('an e-mail is compared in lower case', async (t) => {
  const { email } = await aUser()
  t.equal((await login(t, { email: email.toUpperCase(), password })).status, 200)
  const capitals = { account: 'shop', email: `Ana.${email}`, password }
  await createAccount(service.url, capitals)
  for (const spelling of [`Ana.${email}`, `ana.${email}`])
    t.equal((await login(t, { email: spelling, password })).status, 200, spelling)
})

t.test('an e-mail is compared as a whole and is never SQL', async (t) => {
  const { email } = await aUser()
  for (const other of [` ${email}`, '%@example.com', "' or '1'='1", '*@*', 'a@b\\', '"@"'])
    t.equal((await login(t, { email: other, password })).status, 401, other)
})

t.test(
  'the 11th try after 10 failures is answered 429, also with the right password',
  async (t) => {
    const [user, other] = [await aUser(), await aUser()]
    for (let failure = 1; failure <= 10; failure++)
      t.equal((await login(t, { ...user, password: 'wrong' })).status, 401, `failure ${failure}`)
    for (const attempt of [user, { ...user, password: 'wrong' }]) {
      const answer = await login(t, attempt)
      expectProblem(t, answer, 429, 'too-many-requests', 'over the limit')
      const seconds = Number(answer.headers['retry-after'])
      t.ok(seconds >= 1 && seconds <= 60, `again in ${seconds} s`)
    }
    t.equal((await login(t, other)).status, 200, 'another e-mail is not held up')
  },
)

t.test('a clock that is set back makes no wait longer', async (t) => {
  const user = await aUser()
  for (let failure = 1; failure <= 10; failure++) await login(t, { ...user, password: 'wrong' })
  setClock(t, -3_600_000)
  const { status, headers } = await login(t, user)
  t.equal(status, 429)
  t.ok(Number(headers['retry-after']) <= 60, `again in ${headers['retry-after']} s`)
})

t.test('who waits for as long as the answer says is let in', async (t) => {
  const user = await aUser()
  const began = performance.now()
  let ms = 0
  t.intercept(performance, 'now', { value: () => began + ms })
  for (let failure = 1; failure <= 10; failure++) await login(t, { ...user, password: 'wrong' })
  ms = 500
  const { status, headers } = await login(t, user)
  t.strictSame([status, headers['retry-after']], [429, '60'])
  ms = 59_999
  t.match(await login(t, user), { status: 429, headers: { 'retry-after': '1' } })
  ms = 60_000
  t.equal((await login(t, user)).status, 200)
})

t.test('a minute after the first failure the count begins anew, with the same limit', async (t) => {
  const user = await aUser()
  const wrong = { ...user, password: 'wrong' }
  const began = performance.now()
  let ms = 0
  t.intercept(performance, 'now', { value: () => began + ms })
  for (ms of [0, 10_000, 59_000]) for (let i = 0; i < 3; i++) await login(t, wrong)
  ms = 60_000
  for (let failure = 1; failure <= 10; failure++)
    t.equal((await login(t, wrong)).status, 401, `failure ${failure}`)
  t.equal((await login(t, user)).status, 429)
})

t.test('failures are kept for 10,000 e-mails, the oldest are forgotten', async (t) => {
  const user = await aUser()
  for (let failure = 1; failure <= 10; failure++) countFailure(user.email)
  for (let other = 1; other < 10_000; other++) countFailure(`other${other}@example.com`)
  t.equal((await login(t, user)).status, 429)
  countFailure('one.more@example.com')
  t.equal((await login(t, user)).status, 200)
})

t.test('two logins are checked at once, 32 wait, more are refused at once', async (t) => {
  let begun = 0
  let done = () => {}
  const held = new Promise<void>((resolve) => {
    done = resolve
  })
  const check = () => {
    begun++
    return held
  }
  const accepted = Array.from({ length: 34 }, () => onSeat(check))
  await t.rejects(onSeat(check), { message: 'Too many logins at the same time.' })
  await nextLoop()
  t.equal(begun, 2)
  done()
  await Promise.all(accepted)
  t.equal(begun, 34, 'those that waited have run')
})

t.test('a login that waits too long for a seat is refused, and others get the seat', async (t) => {
  let begun = 0
  let done = () => {}
  const hold = () => {
    const held = new Promise<void>((resolve) => {
      done = resolve
    })
    const check = () => {
      begun++
      return held
    }
    return [1, 2].map(() => onSeat(check))
  }
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const running = hold()
  const refused = t.rejects(
    onSeat(async () => begun++),
    {
      message: 'Too many logins at the same time.',
      options: { headers: { 'retry-after': '3' } },
    },
  )
  await nextLoop()
  mock.timers.tick(2500)
  await refused
  done()
  await Promise.all(running)
  const others = hold()
  await nextLoop()
  t.equal(begun, 4, 'two of them, and two others at once')
  done()
  await Promise.all(others)
})

t.test('tries at the same moment do not pass the limit', async (t) => {
  const { email } = await aUser()
  const tries = Array.from({ length: 14 }, () => login(t, { email, password: 'wrong' }))
  const statuses = (await Promise.all(tries)).map(({ status }) => status)
  t.ok(statuses.every((status) => status === 401 || status === 429))
  t.equal(statuses.filter((status) => status === 401).length, 10, statuses.join(' '))
})

t.test(
  'a flood of logins is refused, and a request with a new token does not wait for it',
  async (t) => {
    const account = await service.newAccount(t)
    const { N } = passwordCost
    passwordCost.N = 2 ** 15
    const slow = await aUser()
    passwordCost.N = N
    await select(
      service.url,
      `insert into users (account_id, email, password_hash, scopes)
      select account_id, 'flood' || number || '@example.com', password_hash, scopes
      from users, generate_series(0, 59) as number where email = '${slow.email}'`,
    )
    // Its token is new; a connection to the database is there.
    await (await service.newAccount(t)).get('/api/v1/price_list/')
    const statuses: number[] = []
    const flood = Array.from({ length: 60 }, async (_, index) => {
      const answer = await login(t, { email: `flood${index}@example.com`, password: 'wrong' })
      if (answer.status === 503) {
        expectProblem(t, answer, 503, 'overloaded', 'refused')
        t.ok(Number(answer.headers['retry-after']) >= 1)
      }
      statuses.push(answer.status)
    })
    await Promise.race(flood)
    t.equal((await account.get('/api/v1/price_list/')).status, 200)
    const checkedBefore = statuses.filter((status) => status === 401).length
    await Promise.all(flood)
    const checked = statuses.filter((status) => status === 401).length
    t.equal(checked + statuses.filter((status) => status === 503).length, 60, statuses.join(' '))
    t.ok(checked <= 34, `${checked} had or awaited a turn`)
    t.ok(checkedBefore < checked / 2, `${checkedBefore} of ${checked} were checked before`)
    t.equal((await login(t, await aUser())).status, 200, 'afterwards logins work')
  },
)

t.test('a bad body is answered 400 and counts as no failure', async (t) => {
  const user = await aUser()
  const bodies: [unknown, object[]][] = [
    [
      {},
      [
        { pointer: '/email', code: 'required' },
        { pointer: '/password', code: 'required' },
      ],
    ],
    [{ email: user.email }, [{ pointer: '/password', code: 'required' }]],
    [{ ...user, email: 7 }, [{ pointer: '/email', code: 'type' }]],
    [{ ...user, password: null }, [{ pointer: '/password', code: 'type' }]],
    [{ ...user, password: [password] }, [{ pointer: '/password', code: 'type' }]],
    [{ ...user, password: '' }, [{ pointer: '/password', code: 'length' }]],
    [{ ...user, password: 'x'.repeat(256) }, [{ pointer: '/password', code: 'length' }]],
    [{ ...user, email: 'a' }, [{ pointer: '/email', code: 'length' }]],
    [{ ...user, account: 1 }, [{ pointer: '/account', code: 'unknown_key' }]],
    [{ ...user, constructor: 1 }, [{ pointer: '/constructor', code: 'unknown_key' }]],
    [[user], [{ pointer: '', code: 'type' }]],
    [null, [{ pointer: '', code: 'type' }]],
  ]
  for (const [body, errors] of bodies) {
    const answer = await login(t, body)
    expectProblem(t, answer, 400, 'invalid-request', JSON.stringify(body).slice(0, 60))
    t.match(answer.body.errors, errors)
    t.equal(answer.body.error_count, errors.length)
    t.notMatch(JSON.stringify(answer.body), password, 'the password is not repeated')
  }
  for (const body of [
    '{',
    '{"email":"a@b","email":"c@d","password":"x"}',
    '{"email":"\\u0000@b","password":"x"}',
  ])
    expectProblem(t, await login(t, body), 400, 'malformed-body', body)
  t.equal((await login(t, user)).status, 200)
})

t.test('a token that is sent along is not looked at', async (t) => {
  const answer = await login(t, await aUser(), { authorization: 'jwt not.a.token' })
  t.equal(answer.status, 200)
})
