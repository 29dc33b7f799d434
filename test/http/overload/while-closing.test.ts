import { once } from 'node:events'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { expectConformant } from '../../helpers/conformant.ts'
import { requestBytes } from '../../helpers/exchange.ts'
import { holdableWrites } from '../../helpers/held-writes.ts'
import { startTestService } from '../../helpers/service.ts'

const path = '/api/v1/sales_history/bulk_create_or_update'
const sale = '[{"transaction_id":"T","code":"A","extension":"","quantity":"1","revenue":"1"}]'

t.test('a request on a connection that is under way is told to come again', async (t) => {
  const service = await startTestService(t)
  const { token } = await service.newAccount(t)
  await service.app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = service.app.server.address() as net.AddressInfo
  const held = await holdableWrites(t, service.url, 'sales')
  await held.hold()
  const socket = net.connect(port, '127.0.0.1')
  socket.write(requestBytes('POST', path, token, sale))
  await held.untilHeld()
  const closed = service.close()
  while (service.app.server.listening) await sleep(20)
  const arrived = once(service.app.server, 'request')
  socket.write(requestBytes('GET', '/api/v1/price_list/', token))
  await arrived
  await held.release()
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  await once(socket, 'close')
  await closed
  const [written, refused] = answersIn(text)
  t.equal(written?.status, 201, 'what was under way is finished')
  t.match(refused, {
    status: 503,
    headers: { 'retry-after': '1', 'content-type': 'application/problem+json' },
    body: { type: 'unavailable', detail: 'The service is shutting down.' },
  })
  t.equal(refused?.body.instance, refused?.headers['x-request-id'])
  if (refused) expectConformant(t, 'GET', '/api/v1/price_list/', refused)
})

t.test('a closing server does not wait for the rest of a refused body', async (t) => {
  const { app } = await startTestService(t)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as net.AddressInfo
  const socket = net.connect(port, '127.0.0.1')
  const all = requestBytes('POST', path, 'forged', sale)
  socket.write(all.subarray(0, -1))
  const [answer] = await once(socket, 'data')
  t.match(String(answer), /^HTTP\/1.1 401 /)
  await app.close()
  t.pass('closed')
})

/** The answers on a connection, each with its length. */
function answersIn(text: string) {
  const heads = [...text.matchAll(/HTTP\/1\.1 (\d+) [^\r]*\r\n(.*?)\r\n\r\n/gs)]
  return heads.map(({ index, 0: { length }, 1: status, 2: lines = '' }) => {
    const headers: Record<string, string> = Object.fromEntries(
      lines.split('\r\n').map((line) => {
        const [name = '', ...value] = line.split(': ')
        return [name.toLowerCase(), value.join(': ')]
      }),
    )
    const start = index + length
    const body = text.slice(start, start + Number(headers['content-length']))
    return { status: Number(status), headers, body: JSON.parse(body) }
  })
}
