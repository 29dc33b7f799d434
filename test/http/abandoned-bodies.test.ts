import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t from 'tap'
import { anApiKey } from '../helpers/api-keys.ts'
import { holdableWrites } from '../helpers/held-writes.ts'
import { startTestService } from '../helpers/service.ts'
import { openRequest } from '../helpers/socket.ts'

const path = '/api/v1/sales_history/bulk_create_or_update/'
const products = '/api/v1/product_catalog/bulk_create_or_update/'
const bytes = 512 * 1024 + 1
const sale =
  '[{"transaction_id":"A","code":"C","extension":"","quantity":"1","revenue":"1"}]'.padEnd(bytes)

t.test('a body that is worked on keeps its room when its client goes', async (t) => {
  const service = await startTestService(t, { BODIES_IN_FLIGHT_MB: '1' })
  await service.app.listen({ port: 0, host: '127.0.0.1' })
  const account = await service.newAccount(t)
  const post = () => account.send('POST', products, '[{"code":"A"}]'.padEnd(bytes))
  const held = await holdableWrites(t, service.url, 'sales')
  await held.hold()
  const authorization = `jwt ${account.token}`
  let gone: Promise<unknown> | undefined
  service.app.server.once('request', (_, answer: ServerResponse) => {
    gone = once(answer, 'close')
  })
  const first = await openRequest(service.app, path, {
    authorization,
    'content-length': `${bytes}`,
  })
  first.write(sale)
  await held.untilHeld()
  await first.abort()
  await gone
  await sleep(20)
  const statuses = []
  for (let look = 0; look < 5; look++) statuses.push((await post()).status)
  t.strictSame(statuses, [503, 503, 503, 503, 503])
  await held.release()
  while ((await post()).status !== 200) await sleep(20)
  t.pass('then it is given back')
})

t.test('a client that goes while its key is looked up takes no room', async (t) => {
  const service = await startTestService(t, { BODIES_IN_FLIGHT_MB: '1' })
  await service.app.listen({ port: 0, host: '127.0.0.1' })
  const account = await service.newAccount(t)
  const { key } = await anApiKey(account, { scopes: ['write'] })
  const owner = new pg.Client({ connectionString: service.url })
  await owner.connect()
  t.teardown(() => owner.end())
  await owner.query('begin; lock table api_keys')
  let gone: Promise<unknown> | undefined
  service.app.server.once('request', (_, answer: ServerResponse) => {
    gone = once(answer, 'close')
  })
  const headers = { authorization: `jwt ${key}`, 'content-length': `${bytes}` }
  const request = await openRequest(service.app, path, headers)
  await request.abort()
  await gone
  await owner.query('commit')
  const body = '[{"code":"A"}]'.padEnd(bytes)
  for (let look = 0; look < 5; look++) {
    await sleep(100)
    t.equal((await account.send('POST', products, body)).status, 200)
  }
})
