import { once } from 'node:events'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { requestBytes } from '../helpers/exchange.ts'
import { aBigJob } from '../helpers/jobs.ts'
import { startTestService } from '../helpers/service.ts'

/** Accepts jobs and runs none: who watches one has an answer that goes on. */
const service = await startTestService(t, {
  ROLE: 'api',
  ARRIVAL_SECONDS: '5',
  BODY_LIMIT_MB: '2',
  BODIES_IN_FLIGHT_MB: '1',
})
await service.app.listen({ port: 0, host: '127.0.0.1' })
const { port } = service.app.server.address() as net.AddressInfo
const { shop, job } = await aBigJob(t, service)
const events = `/api/v1/jobs/${job.id}/events/`

/** Watches the job by a request with a body. */
async function watch(request: Buffer): Promise<{ socket: net.Socket; text: () => string }> {
  const socket = net.connect(port, '127.0.0.1').on('error', () => undefined)
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.write(request)
  while (!text.includes('event: progress')) await once(socket, 'data')
  t.teardown(() => socket.destroy())
  return { socket, text: () => text }
}

t.test('a body that a GET brings takes no room from others', async (t) => {
  const request = requestBytes('GET', events, shop.token, ' '.repeat(1024 * 1024))
  await watch(request.subarray(0, -1))
  const sale = '[{"transaction_id":"T","code":"A","extension":"","quantity":"1","revenue":"1"}]'
  const path = '/api/v1/sales_history/bulk_create_or_update'
  t.equal((await shop.send('POST', path, sale.padEnd(512 * 1024))).status, 201)
})

t.test('an answer to a GET with a body goes on for as long as it takes', async (t) => {
  const { socket, text } = await watch(requestBytes('GET', events, shop.token, '{}'))
  await sleep(5500)
  t.equal(socket.closed, false)
  await shop.post(`/api/v1/jobs/${job.id}/cancel/`, undefined)
  while (!text().includes('event: end')) await once(socket, 'data')
  t.notMatch(text(), 'malformed-body')
})
