import pg from 'pg'
import t, { type Test } from 'tap'
import { expectConformant, type TestResponse } from '../../helpers/conformant.ts'
import { holdableWrites } from '../../helpers/held-writes.ts'
import { startTestService, type TestAccount } from '../../helpers/service.ts'
import { type OpenRequest, openRequest } from '../../helpers/socket.ts'

const path = '/api/v1/sales_history/bulk_create_or_update/'
const sales = '/api/v1/sales_history/'

function sale(id: string): string {
  return `[{"transaction_id":"${id}","code":"C","extension":"","quantity":"1","revenue":"1"}]`
}

function expectRefused(t: Test, answer: TestResponse, status: number, type: string): void {
  t.strictSame({ status: answer.status, type: answer.body.type }, { status, type })
  t.match(answer.headers['retry-after'], /^([1-9]|[1-5]\d|60)$/)
  expectConformant(t, 'POST', path, answer)
}

t.test('while one account writes slowly', async (t) => {
  const service = await startTestService(t, {
    DATABASE_CONNECTIONS: '2',
    ACCOUNT_WRITES: '1',
    ACCOUNT_WAITING: '1',
    WAITING: '2',
  })
  await service.app.listen({ port: 0, host: '127.0.0.1' })
  const owner = new pg.Client({ connectionString: service.url })
  await owner.connect()
  t.teardown(() => owner.end())
  const held = await holdableWrites(t, service.url, 'sales')
  const post = (account: TestAccount, id: string) => account.send('POST', path, sale(id))
  /** Two writes of an account of which one has its turn and is held up, and one waits for its turn. */
  const holdUp = async (account: TestAccount) => {
    await held.hold()
    const writes = [post(account, 'A'), post(account, 'B')]
    await held.untilHeld()
    return async () => {
      await held.release()
      return (await Promise.all(writes)).map(({ status }) => status)
    }
  }

  await t.test('its third write is refused at once, for the first two succeed', async (t) => {
    const account = await service.newAccount(t)
    const release = await holdUp(account)
    expectRefused(t, await post(account, 'C'), 429, 'too-many-requests')
    t.strictSame(await release(), [201, 201])
    t.equal((await post(account, 'C')).status, 201, 'and then it is taken')
    t.equal((await account.get(sales)).body.count, 3)
  })

  await t.test('a write that waits too long for a lock is told what it waits for', async (t) => {
    const account = await service.newAccount(t)
    await owner.query('begin; lock table sales in share mode')
    const answer = await post(account, 'A')
    await owner.query('commit')
    expectRefused(t, answer, 503, 'unavailable')
    t.match(answer.body.detail, /^Other work on the same rows /)
  })

  await t.test('it reads, and others read and write', async (t) => {
    const account = await service.newAccount(t)
    const other = await service.newAccount(t)
    const release = await holdUp(account)
    t.equal((await account.get(sales)).status, 200)
    t.equal((await other.get(sales)).status, 200)
    const schema = { extensions: [{ name: 'country', type: 'string' }] }
    const written = await other.post('/api/v1/product_catalog/schema/create_schema/', schema)
    t.equal(written.status, 201)
    await release()
  })

  await t.test('bad tokens, bad bodies and health checks are answered', async (t) => {
    const account = await service.newAccount(t)
    const release = await holdUp(account)
    const other = await service.newAccount(t)
    t.equal((await other.send('POST', path, '{')).status, 400)
    t.equal((await other.send('POST', path, '[{}]')).status, 400)
    t.equal(
      (await account.send('POST', path, sale('C'), { authorization: 'jwt a.b.c' })).status,
      401,
    )
    t.equal((await account.get('/health/live')).status, 200)
    t.equal((await account.get('/health/ready')).status, 200)
    await release()
  })

  await t.test(
    'requests that would wait beyond the bound are refused before their bodies are read',
    async (t) => {
      const [first, second, third] = [
        await service.newAccount(t),
        await service.newAccount(t),
        await service.newAccount(t),
      ]
      const release = await holdUp(first)
      const others = [post(second, 'A'), post(second, 'B')]
      await held.untilHeld(2)
      expectRefused(t, await post(third, 'A'), 503, 'overloaded')
      expectRefused(t, await third.send('POST', path, '{'), 503, 'overloaded')
      t.strictSame(await release(), [201, 201])
      t.strictSame(
        (await Promise.all(others)).map(({ status }) => status),
        [201, 201],
      )
      t.equal((await third.get(sales)).body.count, 0, 'nothing was written')
    },
  )

  await t.test('a body that arrives when too many wait is refused then', async (t) => {
    const [first, second] = [await service.newAccount(t), await service.newAccount(t)]
    const arriving = await openRequest(service.app, path, {
      authorization: `jwt ${first.token}`,
      'content-length': String(sale('C').length),
    })
    arriving.write('[')
    await everythingNow()
    const release = await holdUp(second)
    const others = post(first, 'A')
    await held.untilHeld(2)
    const waiting = post(first, 'B')
    await everythingNow()
    arriving.write(sale('C').slice(1))
    expectRefused(t, await arriving.answer(), 429, 'too-many-requests')
    await release()
    t.strictSame([(await others).status, (await waiting).status], [201, 201])
  })

  await t.test('a write whose client goes while it waits is not done', async (t) => {
    const account = await service.newAccount(t)
    await held.hold()
    const first = post(account, 'A')
    await held.untilHeld()
    const headers = {
      authorization: `jwt ${account.token}`,
      'content-length': String(sale('B').length),
    }
    const gone = await openRequest(service.app, path, headers)
    gone.write(sale('B'))
    await everythingNow()
    t.equal((await post(account, 'C')).status, 429, 'it waits')
    await gone.abort()
    await everythingNow()
    const next = post(account, 'D')
    await everythingNow()
    await held.release()
    t.strictSame([(await first).status, (await next).status], [201, 201])
    const { body } = await account.get(sales)
    t.strictSame(
      body.results.map((row: { transaction_id: string }) => row.transaction_id),
      ['A', 'D'],
    )
  })
})

/** Lets everything happen that can happen without waiting for others. */
async function everythingNow(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Sends it until it is answered so; what else goes on has its turn in between. */
async function untilStatus(send: () => Promise<TestResponse>, status: number): Promise<void> {
  while ((await send()).status !== status) await everythingNow()
}

t.test('bodies that are on their way or worked on', async (t) => {
  const service = await startTestService(t, { BODY_LIMIT_MB: '2', BODIES_IN_FLIGHT_MB: '1' })
  await service.app.listen({ port: 0, host: '127.0.0.1' })
  const half = 512 * 1024
  const open = async (account: TestAccount, headers: Record<string, string>) => {
    const authorization = `jwt ${account.token}`
    const request = await openRequest(service.app, path, { authorization, ...headers })
    t.teardown(request.abort)
    return request
  }
  const withLength = (account: TestAccount, bytes: number) =>
    open(account, { 'content-length': String(bytes) })
  /** One that has its room, and leaves none to `post`. A machine that is busy for a second takes it for a slow one. */
  const holding = async (
    account: TestAccount,
    bytes: number,
    post: () => Promise<TestResponse>,
  ) => {
    for (;;) {
      const held = await withLength(account, bytes)
      const refusal = await post()
      if (refusal.status === 503) return { ...held, refusal }
      await held.abort()
    }
  }
  const chunked = (account: TestAccount) => open(account, { 'transfer-encoding': 'chunked' })
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`

  await t.test('one that is alone is taken up to the body limit', async (t) => {
    const account = await service.newAccount(t)
    const body = sale('A').padEnd(4 * half)
    t.equal((await account.send('POST', path, body)).status, 201)
    const alone = await chunked(account)
    for (let from = 0; from < body.length; from += half)
      alone.write(chunk(body.slice(from, from + half)))
    alone.write('0\r\n\r\n')
    t.equal((await alone.answer()).status, 201)
    t.equal((await account.send('POST', path, sale('A').padEnd(4 * half + 1))).status, 413)
  })

  await t.test('are refused beyond their sum before they are read', async (t) => {
    const account = await service.newAccount(t)
    const first = await holding(account, half + 1, async () =>
      (await withLength(account, half)).answer(),
    )
    expectRefused(t, first.refusal, 503, 'overloaded')
    const small = await account.send('POST', path, sale('S'))
    t.equal(small.status, 201, 'a small one still has room')
    first.write(sale('A').padEnd(half + 1))
    t.equal((await first.answer()).status, 201, 'the first is not affected')
    t.equal((await account.get(sales)).body.count, 2)
  })

  await t.test('of one account leave room for those of others', async (t) => {
    const [account, other] = [await service.newAccount(t), await service.newAccount(t)]
    const post = ({ send }: TestAccount, bytes: number) =>
      send('POST', path, sale('A').padEnd(bytes))
    const held = await holding(account, 2 * half, () => post(account, half / 4))
    expectRefused(t, await post(other, half / 2 + 1), 503, 'overloaded')
    t.equal((await post(other, half / 2)).status, 201, 'a quarter more')
    await held.abort()
  })

  await t.test('count for the memory that their objects take', async (t) => {
    const account = await service.newAccount(t)
    const objects = `[${'{},'.repeat(half / 64)}{}]`
    const post = () => account.send('POST', path, objects)
    const first = await holding(account, half + 1, post)
    expectRefused(t, await post(), 503, 'overloaded')
    await first.abort()
    await untilStatus(post, 400)
  })

  await t.test('count as they arrive when they are chunked', async (t) => {
    const account = await service.newAccount(t)
    const first = await holding(account, half + 1, async () => {
      const second = await chunked(account)
      second.write(chunk(sale('B').padEnd(half)))
      return second.answer()
    })
    expectRefused(t, first.refusal, 503, 'overloaded')
    first.write(sale('A').padEnd(half + 1))
    t.equal((await first.answer()).status, 201)
    t.equal((await account.get(sales)).body.count, 1, 'nothing of the refused one was written')
  })

  await t.test('take no room with what still comes when they were refused', async (t) => {
    const account = await service.newAccount(t)
    const refused = await chunked(account)
    for (let more = 0; more < 5; more++) refused.write(chunk(' '.repeat(half)))
    t.equal((await refused.answer()).status, 413)
    const next = await withLength(account, half + 1)
    for (let more = 0; more < 5; more++) refused.write(chunk(' '.repeat(half)))
    await everythingNow()
    next.write(sale('A').padEnd(half + 1))
    t.equal((await next.answer()).status, 201)
  })

  const ends: Record<string, (request: OpenRequest) => Promise<unknown>> = {
    'the client goes': (request) => request.abort(),
    'the body is bad': async (request) => {
      request.write('['.padEnd(half + 1))
      t.equal((await request.answer()).status, 400)
    },
    'the body is bad in a row': async (request) => {
      request.write('[{}]'.padEnd(half + 1))
      t.equal((await request.answer()).status, 400)
    },
    'the body is whole': async (request) => {
      request.write(sale('A').padEnd(half + 1))
      t.equal((await request.answer()).status, 201)
    },
  }
  for (const [name, end] of Object.entries(ends)) {
    await t.test(`give their room back when ${name}`, async (t) => {
      const account = await service.newAccount(t)
      const post = () => account.send('POST', path, sale('Z').padEnd(half + 1))
      await end(await holding(account, half + 1, post))
      await untilStatus(post, 201)
      t.pass()
    })
  }

  await t.test('hold no room that they do not fill', async (t) => {
    const account = await service.newAccount(t)
    const post = () => account.send('POST', path, sale('Z').padEnd(half))
    const slow = await holding(account, 2 * half, post)
    slow.write('[')
    await untilStatus(post, 201)
    slow.write(
      sale('A')
        .slice(1)
        .padEnd(2 * half - 1),
    )
    t.equal((await slow.answer()).status, 201, 'a line that was slow for a moment')
  })

  await t.test('that were slow are counted as they go on', async (t) => {
    const [account, other] = [await service.newAccount(t), await service.newAccount(t)]
    const post = () => account.send('POST', path, sale('Z').padEnd(half))
    const slow = await holding(account, 2 * half, post)
    slow.write('[')
    await untilStatus(post, 201)
    const full = await holding(other, 1.5 * half, post)
    slow.write(' '.repeat(half))
    expectRefused(t, await slow.answer(), 503, 'overloaded')
    await full.abort()
  })
})

t.test('while the event loop is late', async (t) => {
  const service = await startTestService(t, { EVENT_LOOP_DELAY_MS: '5' })
  const account = await service.newAccount(t)
  const busy = setInterval(() => {
    const until = performance.now() + 30
    while (performance.now() < until);
  }, 1)
  t.teardown(() => clearInterval(busy))
  let answer = await account.send('POST', path, sale('A'))
  while (answer.status === 201) answer = await account.send('POST', path, sale('A'))
  expectRefused(t, answer, 503, 'overloaded')
  t.equal((await account.send('POST', path, '{', { authorization: 'jwt a.b.c' })).status, 401)
  for (const open of ['/health/live', '/health/ready', '/openapi.json'])
    t.equal((await account.get(open)).status, 200, `${open} is answered`)
  clearInterval(busy)
  await untilStatus(() => account.get(sales), 200)
  t.pass('then requests are taken again')
})
