import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { expectProblem, send } from '../helpers/operations.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService()
const { port } = service.app.server.address() as AddressInfo
const path = '/docs/static/swagger-ui-bundle.js'

const ask = () => fetch(`http://127.0.0.1:${port}${path}`)

async function answerWith(status: number): Promise<Response> {
  for (;;) {
    const answer = await ask()
    if (answer.status === status) return answer
    await answer.arrayBuffer()
    await sleep(50)
  }
}

t.test('what is asked of a document is never a fault of the service', async (t) => {
  const names = ['range', 'if-range', 'if-match', 'if-unmodified-since']
  const values = ['bytes=0-10', 'bytes=99999999-', 'bytes=-0', '"x"', '*', 'yesterday']
  for (const name of names) {
    for (const value of values) {
      const headers = { [name]: value }
      const answer = await send(t, service, { method: 'GET', path, headers })
      t.equal(answer.status, 200, `${name}: ${value}`)
    }
  }
  for (const name of ['.env', '..%2f..%2fpackage.json', 'a%00b', '%20']) {
    const absent = await send(t, service, { method: 'GET', path: `/docs/static/${name}` })
    expectProblem(t, absent, 404, 'not-found', name)
  }
})

t.test('documents that nobody reads do not become more and more', async (t) => {
  const account = await service.newAccount(t)
  const clients = Array.from({ length: 20 }, () => net.connect(port, '127.0.0.1').pause())
  t.teardown(() => {
    for (const client of clients) client.destroy()
  })
  for (const client of clients) {
    await once(client, 'connect')
    client.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(20))
  }
  const refused = await answerWith(503)
  t.equal(refused.headers.get('retry-after'), '1')
  t.match(await refused.json(), {
    type: 'overloaded',
    status: 503,
    detail: 'Too many documents are being sent.',
  })
  t.equal((await account.get('/api/v1/product_catalog/')).status, 200, 'others are answered')
  for (const client of clients) client.destroy()
  t.ok((await (await answerWith(200)).text()).length > 1_000_000, 'and then they are sent again')
})
