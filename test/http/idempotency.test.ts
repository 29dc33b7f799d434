import { once } from 'node:events'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t from 'tap'
import { anAgreement, loadAgreement } from '../helpers/agreement.ts'
import { query } from '../helpers/database.ts'
import { holdableWrites } from '../helpers/held-writes.ts'
import type { TestAccount } from '../helpers/service.ts'
import { startTestService } from '../helpers/service.ts'
import { aFilledList, aList, aShop, setPrices } from '../helpers/shop.ts'
import { select } from '../helpers/sql.ts'
import { userToken } from '../helpers/user-token.ts'

const path = '/api/v1/sales_history/bulk_create_or_update'
const service = await startTestService(t)
await service.app.listen({ port: 0 })
const { port } = service.app.server.address() as AddressInfo

const sale = (id: string, overrides = {}) => ({
  transaction_id: id,
  code: 'A',
  extension: '',
  quantity: '1',
  revenue: '2.50',
  ...overrides,
})
const aYear = { name: 'L', valid_from: '2026-01-01', valid_to: '2026-12-31' }
const send = (account: TestAccount, key: string, body: unknown, to = path) =>
  account.send('POST', to, body, { 'idempotency-key': key })
const salesOf = async (account: TestAccount) =>
  (await account.get('/api/v1/sales_history/')).body.count

t.test('new key: the request is done and its answer is not marked as replayed', async (t) => {
  const account = await service.newAccount(t)
  const response = await send(account, 'k1', [sale('1')])
  t.equal(response.status, 201)
  t.equal(response.headers['idempotent-replayed'], undefined)
  t.equal(await salesOf(account), 1)
})

t.test(
  'replay: the same key and body get the stored answer, and nothing is done again',
  async (t) => {
    const account = await service.newAccount(t)
    const first = await send(account, 'k1', [sale('1')])
    for (const end of ['', '/', '/?']) {
      const again = await send(account, 'k1', [sale('1')], path + end)
      t.equal(again.status, 201)
      t.equal(again.headers['idempotent-replayed'], 'true')
      t.strictSame(again.body, first.body)
    }
  },
)

t.test('what is no POST that writes takes no key: a read reads again', async (t) => {
  const { shop: account, list } = await aFilledList(t, service)
  const read = () =>
    send(account, 'k1', { price_list_id: list.id, payload: [{}] }, '/api/v1/prices/get_prices/')
  for (const price of [1, 2]) {
    await setPrices(account, 'L', [{ code: 'A', country: 'UK', price }])
    const { status, headers, body } = await read()
    t.strictSame([status, headers['idempotent-replayed']], [201, undefined])
    t.equal(body[0].active_price, price)
  }
})

t.test('what is no POST takes no key: it is done again', async (t) => {
  const account = await service.newAccount(t)
  const { id } = await loadAgreement(account, anAgreement())
  const key = { 'idempotency-key': 'k1' }
  for (const price of [1, 2]) {
    const body = { prices: { price } }
    const answer = await account.send('PATCH', `/api/v1/agreement/${id}`, body, key)
    t.match(answer, { status: 200, body })
    t.equal(answer.headers['idempotent-replayed'], undefined)
  }
  const list = await aList(account, {})
  for (const expected of [204, 404]) {
    const to = `/api/v1/price_list/${list.id}`
    t.equal((await account.send('DELETE', to, undefined, key)).status, expected)
  }
})

t.test('replay of an accepted job answers the same job and its Location', async (t) => {
  const codes = Array.from({ length: 101 }, (_, index) => `P${index}`)
  const shop = await aShop(t, service, { codes, countries: ['UK'] })
  await aList(shop, { name: 'L' })
  const body = { name: 'L', payload: codes.map((code) => ({ code, country: 'UK' })) }
  const add = '/api/v1/prices/bulk_add_products/'
  const first = await send(shop, 'k1', body, add)
  const again = await send(shop, 'k1', body, add)
  t.strictSame(again.body, first.body)
  t.equal(again.headers.location, first.headers.location)
  t.equal((await shop.get('/api/v1/jobs/')).body.count, 1)
})

t.test('in flight: 409 with Retry-After while the first request runs', async (t) => {
  const account = await service.newAccount(t)
  const held = await holdableWrites(t, service.url, 'sales')
  await held.hold()
  const first = send(account, 'k1', [sale('1')])
  await held.untilHeld()
  const response = await send(account, 'k1', [sale('1')])
  // Of another account, and of another user of the same one, it is another key.
  const others = [await service.newAccount(t), account]
  const token = await userToken(service.jwtSecret, { id: 2, account: account.id })
  for (const other of others) {
    const headers = {
      'idempotency-key': 'k1',
      ...(other === account && { authorization: `jwt ${token}` }),
    }
    const path = '/api/v1/price_list/bulk_create/'
    t.equal((await other.send('POST', path, [aYear], headers)).status, 201)
  }
  await held.release()
  t.match(response, { status: 409, body: { type: 'idempotency-key-in-use' } })
  t.equal(response.headers['retry-after'], '1')
  t.equal((await first).status, 201)
  t.equal(await salesOf(account), 1)
})

t.test('a key that was computed to collide with another lock does not', async (t) => {
  const account = await service.newAccount(t)
  await select(service.url, `insert into accounts (id, name) values (1, 'First')`)
  // The key is computed for account 1 and the number of a lock that has nothing to do with keys.
  const [token, lock, key] = [
    await userToken(service.jwtSecret, { id: 1, account: 1 }),
    0x70726963,
    'kkKqcPeW9+1dt8',
  ]
  const other = new pg.Client({ connectionString: service.url })
  await other.connect()
  t.teardown(() => other.end())
  const hash = 'select hashtextextended($1, 0)::text as hash, pg_advisory_lock($2)'
  const name = JSON.stringify(['idempotency', 1, '1', key])
  t.equal((await other.query(hash, [name, lock])).rows[0].hash, `${lock}`, 'the premise')
  const headers = { 'idempotency-key': key, authorization: `jwt ${token}` }
  t.equal((await account.send('POST', path, [sale('1')], headers)).status, 201)
})

t.test(
  'two requests at once with one key: done once, and both get its answer or 409',
  async (t) => {
    const account = await service.newAccount(t)
    const body = Array.from({ length: 500 }, (_, index) => sale(`${index}`))
    const responses = await Promise.all(Array.from({ length: 6 }, () => send(account, 'k1', body)))
    const done = responses.filter(({ status }) => status === 201)
    t.ok(done.length >= 1)
    t.ok(responses.every(({ status }) => status === 201 || status === 409))
    t.equal(done.filter(({ headers }) => !headers['idempotent-replayed']).length, 1)
    t.equal(await salesOf(account), 500)
  },
)

t.test('other body or other path: 422 and no change', async (t) => {
  const account = await service.newAccount(t)
  await send(account, 'k1', [sale('1')])
  t.match(await send(account, 'k1', [sale('2')]), {
    status: 422,
    body: { type: 'idempotency-key-reused' },
  })
  const other = '/api/v1/price_list/bulk_create/'
  for (const body of [[], [sale('1')]])
    t.match(await send(account, 'k1', body, other), { status: 422 })
  t.equal(await salesOf(account), 1)
})

t.test('other query: 422 and no change, however its parameters are written', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['France'] })
  for (const name of ['List 1', 'List 2']) await aList(shop, { name })
  const load = (query: string) =>
    shop.send('POST', `/api/v1/prices/bulk_add_products/?${query}`, 'code,country\nA,France\n', {
      'content-type': 'text/csv',
      'idempotency-key': 'k1',
    })
  t.equal((await load('price_list_name=List%201')).status, 201)
  t.equal((await load('price_list_name=List%202')).status, 422)
  const again = await load('price%5flist_name=List+1')
  t.equal(again.headers['idempotent-replayed'], 'true')

  await shop.post('/api/v1/competitor_prices/schema/create_schema/', {
    attributes_config: ['code'],
  })
  const prices = '/api/v1/competitor_prices/bulk_create_or_update/'
  t.equal((await send(shop, 'k2', [], `${prices}?on_stale=skip`)).status, 201)
  t.match(await send(shop, 'k2', [], `${prices}?on_stale=reject`), {
    status: 422,
    body: { type: 'idempotency-key-reused' },
  })
})

t.test('expired: after 24 hours the key is new', async (t) => {
  const account = await service.newAccount(t)
  await send(account, 'k1', [sale('1')])
  const age = (interval: string) =>
    query(service.url, `update idempotency_keys set created_at = now() - interval '${interval}'`)
  await age('23 hours 59 minutes')
  t.equal((await send(account, 'k1', [sale('1')])).headers['idempotent-replayed'], 'true')
  await age('24 hours 1 minute')
  const response = await send(account, 'k1', [sale('2')])
  t.equal(response.status, 201)
  t.equal(response.headers['idempotent-replayed'], undefined)
  t.equal(await salesOf(account), 2)
  const again = await send(account, 'k1', [sale('2')])
  t.equal(again.headers['idempotent-replayed'], 'true', 'and is kept again')
})

/** A file that is sent with a key, and has not ended yet. */
async function anOpenFile(account: TestAccount) {
  const headers = {
    authorization: `jwt ${account.token}`,
    'content-type': 'text/csv',
    'idempotency-key': 'file',
  }
  const file = request({ port, path, method: 'POST', headers })
  const rows = Array.from({ length: 5000 }, (_, index) => `F${index},A,,1,1\n`)
  file.write(`transaction_id,code,extension,quantity,revenue\n${rows.join('')}`)
  while ((await service.feedsUnderWay()) === 0) await sleep(20)
  return file
}

t.test('expired keys hold up no other request while a file arrives', async (t) => {
  const account = await service.newAccount(t)
  await send(account, 'old', [sale('1')])
  await query(service.url, `update idempotency_keys set created_at = now() - interval '25 hours'`)
  const file = await anOpenFile(account)
  for (const key of ['old', 'new'])
    t.equal((await send(account, key, [sale(key)])).status, 201, key)
  const answered = once(file, 'response')
  file.end()
  const [{ statusCode }] = await answered
  t.equal(statusCode, 201)
})

t.test('the 24 hours of a key begin with the answer, not with the file', async (t) => {
  const account = await service.newAccount(t)
  const file = await anOpenFile(account)
  const [{ now }] = await select(service.url, 'select clock_timestamp()::text as now')
  const answered = once(file, 'response')
  file.end()
  const [answer] = await answered
  answer.resume()
  t.equal(answer.statusCode, 201)
  const keys = await select(
    service.url,
    'select created_at > $1::timestamptz as is_later from idempotency_keys where account_id = $2',
    [now, account.id],
  )
  t.strictSame(keys, [{ is_later: true }])
})

t.test('other account: the same key is another key', async (t) => {
  const first = await service.newAccount(t)
  const second = await service.newAccount(t)
  await send(first, 'k1', [sale('1')])
  const response = await send(second, 'k1', [sale('2')])
  t.equal(response.headers['idempotent-replayed'], undefined)
  t.equal(await salesOf(second), 1)
})

t.test('other user of the account: the same key is another key', async (t) => {
  const account = await service.newAccount(t)
  await send(account, 'k1', [sale('1')])
  const token = await userToken(service.jwtSecret, { id: 2, account: account.id })
  const headers = { 'idempotency-key': 'k1', authorization: `jwt ${token}` }
  const response = await account.send('POST', path, [sale('1')], headers)
  t.equal(response.status, 201)
  t.equal(response.headers['idempotent-replayed'], undefined)
})

t.test('failed with 4xx: not stored, the key can be sent again with a mended body', async (t) => {
  const account = await service.newAccount(t)
  t.match(await send(account, 'k1', [sale('1', { quantity: 'x' })]), { status: 400 })
  t.match(await send(account, 'k1', [sale('1'), sale('1', { quantity: '3' })]), { status: 400 })
  const response = await send(account, 'k1', [sale('1')])
  t.equal(response.status, 201)
  t.equal(response.headers['idempotent-replayed'], undefined)
})

t.test('failed with 5xx: not stored', async (t) => {
  const account = await service.newAccount(t)
  await query(
    service.url,
    'alter table sales add constraint fault check (code <> $$FAULT$$) not valid',
  )
  t.match(await send(account, 'k1', [sale('1', { code: 'FAULT' })]), { status: 500 })
  await query(service.url, 'alter table sales drop constraint fault')
  const response = await send(account, 'k1', [sale('1', { code: 'FAULT' })])
  t.equal(response.status, 201)
  t.equal(response.headers['idempotent-replayed'], undefined)
})

t.test('a key of 255 characters is taken', async (t) => {
  const account = await service.newAccount(t)
  t.equal((await send(account, 'k'.repeat(255), [sale('1')])).status, 201)
})

for (const [what, key] of [
  ['empty', ''],
  ['over 255 characters', 'k'.repeat(256)],
] as const) {
  t.test(`a key that is ${what} is refused`, async (t) => {
    const account = await service.newAccount(t)
    t.match(await send(account, key, [sale('1')]), {
      status: 400,
      body: { errors: [{ pointer: '/header/idempotency-key', code: 'length' }] },
    })
    t.equal(await salesOf(account), 0)
  })
}
