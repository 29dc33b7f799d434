import { once } from 'node:events'
import { Agent, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { createAccount } from '../../src/accounts/create-account.ts'
import { bodyOperations, concretePath, exampleBody, send } from '../helpers/operations.ts'
import { aSale, salesOf } from '../helpers/sales.ts'
import { startTestService, type TestAccount } from '../helpers/service.ts'
import { openRequest } from '../helpers/socket.ts'

const path = '/api/v1/sales_history/bulk_create_or_update'
const megabyte = 1024 * 1024
const service = await startTestService(t, { BODY_LIMIT_MB: '2', BODIES_IN_FLIGHT_MB: '4' })
await service.app.listen({ port: 0, host: '127.0.0.1' })
const { port } = service.app.server.address() as AddressInfo

const zip = (account: TestAccount, body: string | Buffer, headers = {}) =>
  account.send('POST', path, body, { 'content-encoding': 'gzip', ...headers })
const sale = (id: string) => JSON.stringify([aSale({ transaction_id: id })])

t.test('a compressed JSON body is taken by every operation like a plain one', async (t) => {
  const { token } = await service.newAccount(t)
  for (const operation of bodyOperations) {
    for (const mediaType of operation.mediaTypes.filter((type) => type.endsWith('json'))) {
      const answers = []
      for (const encoding of ['identity', 'gzip', 'x-gzip', 'GZIP']) {
        const body = Buffer.from(JSON.stringify({ unknown: exampleBody(operation) }))
        const headers = { authorization: `jwt ${token}`, 'content-type': mediaType }
        const { status, body: answered } = await send(t, service, {
          method: operation.method,
          path: concretePath(operation.path),
          headers: { ...headers, 'content-encoding': encoding },
          payload: encoding === 'identity' ? body : gzipSync(body),
        })
        answers.push({ status, ...answered, instance: '' })
      }
      const [plain, ...others] = answers
      for (const other of others) t.strictSame(other, plain, operation.id)
    }
  }
})

t.test('of several members, with zeros behind them, chunked or with a length', async (t) => {
  const account = await service.newAccount(t)
  const text = sale('T1')
  const halves = [text.slice(0, 20), text.slice(20)].map((half) => gzipSync(half))
  t.equal((await zip(account, Buffer.concat(halves))).status, 201)
  t.equal((await zip(account, Buffer.concat([...halves, Buffer.alloc(70_000)]))).status, 201)
  const headers = { authorization: `jwt ${account.token}`, 'content-encoding': 'gzip' }
  const chunked = await openRequest(service.app, path, {
    ...headers,
    'transfer-encoding': 'chunked',
  })
  for (const byte of gzipSync(sale('T2')))
    chunked.write(Buffer.concat([Buffer.from('1\r\n'), Buffer.from([byte]), Buffer.from('\r\n')]))
  chunked.write('0\r\n\r\n')
  t.equal((await chunked.answer()).status, 201)
  await chunked.abort()
  t.equal((await salesOf(account)).length, 2)
})

t.test('what is not whole and valid gzip is refused and says so', async (t) => {
  const account = await service.newAccount(t)
  const whole = gzipSync(sale('T1'))
  const damaged = Buffer.from(whole)
  damaged[20] = (damaged[20] ?? 0) ^ 0xff
  const bodies = {
    'cut off': whole.subarray(0, -9),
    'its first byte': whole.subarray(0, 1),
    'not compressed': Buffer.from(sale('T1')),
    damaged,
    'more behind it': Buffer.concat([whole, Buffer.from('x')]),
    'more behind zeros': Buffer.concat([whole, Buffer.alloc(70_000), whole]),
  }
  for (const [name, body] of Object.entries(bodies)) {
    const detail = 'The body is not whole and valid gzip.'
    const expected = { status: 400, body: { type: 'malformed-body', detail } }
    t.match(await zip(account, body), expected, name)
  }
  t.match(await zip(account, gzipSync('{')), { status: 400, body: { detail: /not valid JSON/ } })
  t.equal((await zip(account, gzipSync(''))).status, 400)
  t.strictSame(await salesOf(account), [])
})

t.test('limits count decoded bytes', async (t) => {
  const account = await service.newAccount(t)
  const at = sale('T1').padEnd(2 * megabyte)
  t.equal((await zip(account, gzipSync(at))).status, 201, 'at the limit')
  const detail =
    'The body limit is 2097152 bytes when decoded, this one has more. Send it in several calls.'
  const tooLarge = { status: 413, body: { type: 'payload-too-large', detail } }
  t.match(await zip(account, gzipSync(`${at} `)), tooLarge, 'over it')
  const member = gzipSync(Buffer.alloc(10 * megabyte, ' '))
  const bomb = Buffer.concat(Array.from({ length: 50 }, () => member))
  const { rss } = process.memoryUsage()
  t.match(await zip(account, bomb), tooLarge, 'far over it')
  t.ok(process.memoryUsage().rss - rss < 250 * megabyte, 'of whose 500 MB no more is decoded')
  const empty = gzipSync('')
  const endless = Buffer.alloc(2 * megabyte + 1, empty)
  t.match(await zip(account, endless), tooLarge, 'many members of nothing')
  const payload = gzipSync(Buffer.alloc(64 * 1024 + 1, ' '))
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
  const login = await send(t, service, { method: 'POST', path: '/login/', headers, payload })
  t.match(login, { status: 413, body: { detail: /65536 bytes when decoded/ } }, 'a login')
})

t.test('a login may be compressed', async (t) => {
  const [email, password] = ['gzip@example.com', 'a long enough password']
  await createAccount(service.url, { account: 'gzip', email, password })
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
  const payload = gzipSync(JSON.stringify({ email, password }))
  const { status, body } = await send(t, service, {
    method: 'POST',
    path: '/login/',
    headers,
    payload,
  })
  t.match({ status, body }, { status: 200, body: { token: String } })
})

t.test('with an Idempotency-Key the decoded body counts', async (t) => {
  const account = await service.newAccount(t)
  const key = { 'idempotency-key': 'k1' }
  t.equal((await zip(account, gzipSync(sale('T1')), key)).status, 201)
  for (const [body, encoding] of [
    [sale('T1'), 'identity'],
    [gzipSync(sale('T1'), { level: 0 }), 'gzip'],
  ] as const) {
    const again = await zip(account, body, { ...key, 'content-encoding': encoding })
    t.equal(again.headers['idempotent-replayed'], 'true')
  }
  t.equal((await zip(account, gzipSync(sale('T2')), key)).status, 422)
})

t.test('the decoded bytes count among the bodies in flight', async (t) => {
  const small = await startTestService(t, { BODY_LIMIT_MB: '2', BODIES_IN_FLIGHT_MB: '1' })
  await small.app.listen({ port: 0, host: '127.0.0.1' })
  const [holder, other] = [await small.newAccount(t), await small.newAccount(t)]
  for (;;) {
    const authorization = `jwt ${holder.token}`
    const length = String(megabyte)
    const held = await openRequest(small.app, path, { authorization, 'content-length': length })
    const answer = await zip(other, gzipSync(sale('T1').padEnd(megabyte)))
    await held.abort()
    // On a machine that is busy for a second the first one counts as a slow one, and holds no room.
    if (answer.status === 201) continue
    t.match(answer, { status: 503, body: { type: 'overloaded' } })
    break
  }
  while ((await zip(other, gzipSync(sale('T1').padEnd(megabyte)))).status !== 201) await sleep(20)
})

t.test('a client that sends on is answered, and its connection serves again', async (t) => {
  const account = await service.newAccount(t)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const post = async (body: Buffer) => {
    const sent = request({
      port,
      host: '127.0.0.1',
      path,
      method: 'POST',
      agent,
      headers: {
        authorization: `jwt ${account.token}`,
        'content-type': 'application/json',
        'content-encoding': 'gzip',
      },
    })
    sent.end(body)
    const [answer] = await once(sent, 'response')
    await answer.resume().toArray()
    return {
      status: answer.statusCode,
      reused: sent.reusedSocket,
    }
  }
  t.match(await post(gzipSync(sale('T1'))), { status: 201 })
  const noise = Buffer.alloc(1_900_000, 'no gzip at all')
  t.match(await post(noise), { status: 400, reused: true })
  t.match(await post(gzipSync(Buffer.alloc(20 * megabyte, ' '))), { status: 413, reused: true })
  t.match(await post(gzipSync(sale('T2'))), { status: 201, reused: true })
})
