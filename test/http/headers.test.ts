import net from 'node:net'
import t from 'tap'
import { operations } from '../../src/contract/document.ts'
import { concretePath, send } from '../helpers/operations.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aToken } from '../helpers/tokens.ts'

const service = await sharedService()
const authorization = `jwt ${await aToken()}`
const protective = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
}

t.test('every answer of the API is no page, kept by nobody, and names no server', async (t) => {
  const requests = [
    ...operations.map(({ method, path }) => ({ method, path: concretePath(path) })),
    { method: 'GET', path: '/nowhere' },
    { method: 'GET', path: '/%c0' },
    { method: 'PUT', path: '/login/' },
  ]
  for (const { method, path } of requests) {
    for (const headers of [{}, { authorization }]) {
      const { headers: answered } = await send(t, service, { method, path, headers })
      t.match(answered, protective, `${method} ${path}`)
      t.equal(answered['cache-control'], 'no-store', `${method} ${path}`)
      t.equal(
        answered['content-security-policy'],
        "default-src 'none'; frame-ancestors 'none'",
        `${method} ${path}`,
      )
      for (const name of ['server', 'x-powered-by', 'via'])
        t.notOk(name in answered, `${method} ${path}: ${name}`)
    }
  }
})

t.test('the documentation runs its own scripts only and is framed by nobody', async (t) => {
  for (const path of ['/docs', '/docs/static/swagger-ui.css']) {
    const { status, headers } = await send(t, service, { method: 'GET', path })
    t.equal(status, 200)
    t.match(headers, protective, path)
    const policy = String(headers['content-security-policy'])
    t.match(policy, /default-src 'self'/)
    t.match(policy, /frame-ancestors 'none'/)
    t.notMatch(policy, /unsafe-eval|script-src [^;]*unsafe|https?:|upgrade-insecure-requests/)
  }
  const { body } = await send(t, service, { method: 'GET', path: '/docs' })
  for (const [script, content] of body.matchAll(/<script[^>]*>([^<]*)/g))
    t.equal(content.trim(), '', `no script in the page: ${script.slice(0, 80)}`)
})

t.test('a request line or headers over 16 KB are answered 414 or 431', async (t) => {
  const { port } = service.app.server.address() as net.AddressInfo
  const long = 'x'.repeat(20_000)
  const cases: [string, string, number, string][] = [
    ['a long path', `GET /${long} HTTP/1.1\r\nHost: a\r\n\r\n`, 414, 'uri-too-long'],
    ['a long query', `GET /?code=${long} HTTP/1.1\r\nHost: a\r\n\r\n`, 414, 'uri-too-long'],
    ['a long header', `GET / HTTP/1.1\r\nHost: a\r\nX: ${long}\r\n\r\n`, 431, 'headers-too-large'],
    [
      'many headers',
      `GET / HTTP/1.1\r\nHost: a\r\n${'X: y\r\n'.repeat(4000)}\r\n`,
      431,
      'headers-too-large',
    ],
  ]
  for (const [name, bytes, status, type] of cases) {
    const socket = net.connect(port, '127.0.0.1')
    socket.write(bytes)
    let answer = ''
    for await (const chunk of socket) answer += chunk
    const [head = '', body = ''] = answer.split('\r\n\r\n')
    t.match(head, new RegExp(`^HTTP/1.1 ${status} `), name)
    for (const [header, value] of Object.entries(protective))
      t.ok(head.includes(`${header}: ${value}`), `${name}: ${header}`)
    t.match(JSON.parse(body), { type, status }, name)
  }
})

t.test('only a refused write says that nothing was written', async (t) => {
  const account = await service.newAccount(t)
  const { body: read } = await account.get('/api/v1/price_list/?limit=0')
  t.equal(read.detail, '1 error.')
  const payload = { price_list_name: 'L', payload: [{}], x: 1 }
  const { body: prices } = await account.post('/api/v1/prices/get_prices/', payload)
  t.equal(prices.detail, '1 error.')
  const { body: write } = await account.post('/api/v1/price_list/bulk_create/', [{}])
  t.match(write.detail, /^\d errors\. Nothing was written\.$/)
})
