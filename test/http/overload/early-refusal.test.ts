import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { RefusalPace } from '../../../src/http/overload/throttle.ts'
import { expectConformant } from '../../helpers/conformant.ts'
import { holdableSales } from '../../helpers/held-sales.ts'
import { captureLog } from '../../helpers/log.ts'
import { metricsToken, startTestService, type TestAccount } from '../../helpers/service.ts'
import { aToken } from '../../helpers/tokens.ts'

const path = '/api/v1/sales_history/bulk_create_or_update/'
const log = captureLog(t)
const service = await startTestService(t, {
  DATABASE_CONNECTIONS: '2',
  ACCOUNT_WRITES: '1',
  ACCOUNT_WAITING: '1',
  LOG_LEVEL: 'info',
})
await service.app.listen({ port: 0, host: '127.0.0.1' })
const { port } = service.app.server.address() as AddressInfo
const held = await holdableSales(t, service.url)
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
t.teardown(() => agent.destroy())

const sale = (id: string, note = '') =>
  JSON.stringify([{ transaction_id: id, code: 'C', extension: note, quantity: '1', revenue: '1' }])

interface Answered {
  status: number
  headers: IncomingHttpHeaders
  body: Record<string, string>
  isReused: boolean
}

/** Over a socket, always the same: requests that are injected are not refused early. */
async function send(token: string, body: string, headers = {}): Promise<Answered> {
  const sent = request({
    agent,
    port,
    path,
    method: 'POST',
    headers: { authorization: `jwt ${token}`, 'content-type': 'application/json', ...headers },
  })
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    sent.on('response', resolve).on('error', reject).end(body)
  })
  const text = Buffer.concat(await response.toArray()).toString()
  const { statusCode: status = 0 } = response
  const answer = { status, headers: response.headers, body: JSON.parse(text) }
  expectConformant(t, 'POST', path, answer)
  return { ...answer, isReused: sent.reusedSocket }
}

/** While the account has one write under way and one that waits, both done when this ends. */
async function whileFull(account: TestAccount, work: () => Promise<void>): Promise<void> {
  await held.hold()
  const writes = ['A', 'B'].map((id) => account.send('POST', path, sale(id)))
  await held.untilHeld()
  await work()
  await held.release()
  for (const { status } of await Promise.all(writes)) t.equal(status, 201)
}

t.test('a request that cannot be taken up is refused before it is routed', async (t) => {
  const account = await service.newAccount(t)
  await account.send('POST', path, sale('known'))
  await whileFull(account, async () => {
    const requestId = { 'x-request-id': 'mine' }
    const answer = await send(account.token, sale('C', 'x'.repeat(200_000)), requestId)
    t.strictSame([answer.status, answer.body.type], [429, 'too-many-requests'])
    t.match(answer.headers['retry-after'], /^([1-9]|[1-5]\d|60)$/)
    t.equal(answer.headers['x-request-id'], answer.body.instance)
    t.equal(answer.headers['cache-control'], 'no-store')
    t.equal((await send(account.token, sale('C'))).isReused, true, 'its connection goes on')
    const picture = await send(account.token, sale('C'), { accept: 'image/png' })
    t.equal(picture.status, 429, 'nothing else is looked at: routed, it were 406')
    t.not(picture.body.instance, answer.body.instance, 'each has an id of its own')
    const lines = log.lines().filter(({ request_id }) => request_id === answer.body.instance)
    t.match(lines, [
      { account: account.id, operation: 'upsertSales', status: 429, client_request_id: 'mine' },
    ])
    const authorization = `Bearer ${metricsToken}`
    const { body } = await account.send('GET', '/metrics', undefined, { authorization })
    t.match(body, /requests_total\{operation="upsertSales",status="429"\} 3\n/)
  })
  t.equal((await send(account.token, sale('C'))).status, 201, 'and is taken up later')
})

t.test('a refusal counts for the pace of its account, before it is routed and after', async (t) => {
  const account = await service.newAccount(t)
  await account.send('POST', path, sale('known'))
  await whileFull(account, async () => {
    const count = t.capture(RefusalPace.prototype, 'count', () => undefined)
    const counted = () => count().map(({ args: [id] }) => id)
    t.equal((await send(account.token, sale('C'))).status, 429)
    t.strictSame(counted(), [account.id])
    t.equal((await account.send('POST', path, sale('C'))).status, 429)
    t.strictSame(counted(), [account.id])
  })
})

t.test('who may not write is told so, however much there is to do', async (t) => {
  const account = await service.newAccount(t)
  const reader = await aToken({ account: account.id, scope: 'read' })
  await account.send('GET', '/api/v1/sales_history/', undefined, { authorization: `jwt ${reader}` })
  await whileFull(account, async () => {
    t.equal((await send(reader, sale('C'))).status, 403)
    t.equal((await send('a.b.c', sale('C'))).status, 401)
  })
})
