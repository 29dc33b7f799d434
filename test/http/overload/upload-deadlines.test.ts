import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { BodiesInFlight } from '../../../src/http/overload/memory-budget.ts'
import { Uploads } from '../../../src/http/overload/upload-deadlines.ts'
import { exchange, requestBytes } from '../../helpers/exchange.ts'
import { startTestService } from '../../helpers/service.ts'
import { openRequest } from '../../helpers/socket.ts'
import { select } from '../../helpers/sql.ts'

type Raw = http.IncomingMessage

const path = '/api/v1/sales_history/bulk_create_or_update/'

t.test(
  'a body that hardly arrives is ended, its room given back, and nothing is written',
  async (t) => {
    const service = await startTestService(t, { BODIES_IN_FLIGHT_MB: '1' })
    await service.app.listen({ port: 0, host: '127.0.0.1' })
    const account = await service.newAccount(t)
    const authorization = `jwt ${account.token}`
    const lengths = [{ 'content-length': '100000' }, { 'transfer-encoding': 'chunked' }]
    const sendSlowly = async (length: Record<string, string>) => {
      const slow = await openRequest(service.app, path, { authorization, ...length })
      const trickle = setInterval(() => slow.write('1\r\n \r\n'), 1000)
      const answer = await slow.answer()
      clearInterval(trickle)
      t.match(answer, { status: 400, body: { type: 'malformed-body', detail: /in time/ } })
      await slow.abort()
    }
    await Promise.all(lengths.map(sendSlowly))
    t.equal((await account.get('/api/v1/sales_history/')).body.count, 0)
  },
)

t.test('a body that was refused by its head is not waited for longer than others', async (t) => {
  const service = await startTestService(t, { ARRIVAL_SECONDS: '1' })
  await service.app.listen({ port: 0, host: '127.0.0.1' })
  const { token } = await service.newAccount(t)
  const known = { authorization: `jwt ${token}` }
  const cases: [string, Record<string, string>, number][] = [
    [path, {}, 401],
    [path, { 'content-type': 'text/csv' }, 401],
    ['/health/live', { ...known, 'content-type': 'text/csv' }, 405],
    ['/api/v1/prices/get_prices/', { ...known, 'content-type': 'text/csv' }, 415],
  ]
  const sendSlowly = async ([path, headers, status]: (typeof cases)[number]) => {
    const length = { 'content-length': '100000' }
    const slow = await openRequest(service.app, path, { ...headers, ...length })
    const trickle = setInterval(() => slow.write(' '), 100)
    t.teardown(() => clearInterval(trickle))
    t.equal((await slow.answer()).status, status, `${path} ${headers['content-type']}`)
    await slow.closed
  }
  await Promise.all(cases.map(sendSlowly))
})

t.test('an empty body is there at once, however long the answer takes', async (t) => {
  const service = await startTestService(t, { ARRIVAL_SECONDS: '1' })
  await service.app.listen({ port: 0, host: '127.0.0.1' })
  const account = await service.newAccount(t)
  const { body } = await account.post('/api/v1/price_list/bulk_create/', [
    { name: 'L', valid_from: '2026-01-01', valid_to: '2026-12-31' },
  ])
  await select(
    service.url,
    `create function take_long() returns trigger language plpgsql as $$ begin
       perform pg_sleep(2);
       return old;
     end $$;
     create trigger take_long before delete on price_lists for each row execute function take_long()`,
  )
  const { port } = service.app.server.address() as net.AddressInfo
  const socket = net.connect(port, '127.0.0.1')
  const path = `/api/v1/price_list/${body[0].id}/`
  t.equal(await exchange(socket, requestBytes('DELETE', path, account.token)), 204)
  socket.destroy()
})

/** A server that watches a request, of which these bytes have arrived and none were read, and what it refuses. */
async function watched(t: Test, bytes: string, headers: Record<string, string> = {}) {
  const server = http.createServer()
  const paces = {
    lookMs: 10,
    graceMs: 50,
    fileGraceMs: 50,
    steadyBytesPerSecond: 1e9,
    bytesPerSecondMin: 1e9,
  }
  const uploads = new Uploads(server, 60_000, paces)
  const refused: unknown[] = []
  server.on('clientError', (error) => refused.push(error))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  const client = net.connect(port, '127.0.0.1')
  client.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n${bytes}`)
  const [request, response] = (await once(server, 'request')) as [Raw, http.ServerResponse]
  request.pause()
  await once(request, 'readable')
  const heldBody = new BodiesInFlight(1000).begin(1, 10)
  const watchedHeaders = { ...request.headers, ...headers }
  uploads.watch({ raw: request, headers: watchedHeaders, heldBody }, response)
  t.teardown(() => {
    uploads.stop()
    client.destroy()
    server.close()
  })
  return { client, request, refused }
}

const kinds = { 'a body': 'application/json', 'a file': 'text/csv' }

for (const [name, type] of Object.entries(kinds)) {
  t.test(`${name} that waits for its reader is not slow`, async (t) => {
    const { request, refused } = await watched(t, '01234', { 'content-type': type })
    await sleep(200)
    t.strictSame(refused, [])
    request.resume()
    while (refused.length === 0) await new Promise((resolve) => setImmediate(resolve))
    t.match(refused, [{ code: 'ERR_HTTP_REQUEST_TIMEOUT' }], 'then it is')
  })

  t.test(`${name} that is there and not read to its end is not slow`, async (t) => {
    const { request, refused } = await watched(t, '0123456789', { 'content-type': type })
    request.read()
    await sleep(200)
    t.strictSame(refused, [])
  })
}

t.test('a pause of the process is no delay of the client', async (t) => {
  const { client, request, refused } = await watched(t, '01234')
  request.resume()
  client.write('56789')
  // As long as two looks may wait for one that is slow.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
  await once(request, 'end')
  t.strictSame(refused, [])
})

t.test('every body is watched on its way, that of a file, too', async (t) => {
  const watched: string[] = []
  const { watch } = Uploads.prototype
  t.teardown(() => (Uploads.prototype.watch = watch))
  Uploads.prototype.watch = function (request, ...rest) {
    watched.push(request.headers['content-type'] ?? '')
    return watch.call(this, request, ...rest)
  }
  const service = await startTestService(t)
  const account = await service.newAccount(t)
  const bodies = {
    'application/json': '[]',
    'text/csv': 'transaction_id,code,extension,quantity,revenue\n',
    'application/x-ndjson': '\n',
  }
  for (const [type, body] of Object.entries(bodies))
    await account.send('POST', path, body, { 'content-type': type })
  t.strictSame(watched, Object.keys(bodies))
})
