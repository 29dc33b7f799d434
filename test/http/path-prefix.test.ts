import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { createAccount } from '../../src/accounts/create-account.ts'
import { createClient } from '../../src/client/index.ts'
import { readContract } from '../../src/contract/document.ts'
import { aBigJob } from '../helpers/jobs.ts'
import { send } from '../helpers/operations.ts'
import { startTestService, type TestService } from '../helpers/service.ts'
import { startStrippingProxy } from '../helpers/stripping-proxy.ts'

const plain = await startTestService(t)
const configured = await startTestService(t, { BASE_PATH: '/set/below' })
const path = '/docs/static/index.html'
const job = '/api/v1/prices/bulk_add_products/'

/** Where an answer leads, sent with this prefix. */
async function locationOf(t: Test, service: TestService, prefix?: string) {
  const headers = prefix === undefined ? {} : { 'x-forwarded-prefix': prefix }
  return (await send(t, service, { method: 'GET', path, headers })).headers.location
}

t.test('without a prefix, paths are those of the service', async (t) => {
  t.equal(await locationOf(t, plain), '/docs/')
})

t.test('the prefix that the proxy names stands before a Location', async (t) => {
  for (const prefix of ['/pricing', '/a/b', '/a.b/C_d-1', '/0'])
    t.equal(await locationOf(t, plain, prefix), `${prefix}/docs/`, prefix)
})

t.test('the setting does where the proxy names none, which wins', async (t) => {
  t.equal(await locationOf(t, configured), '/set/below/docs/')
  t.equal(await locationOf(t, configured, '/pricing'), '/pricing/docs/')
})

t.test('what is no path of the form is ignored', async (t) => {
  const forms = ['', '/', 'pricing', '/pricing/', '//evil.example', '/a//b', 'https://evil.example']
  const hostile = [
    '/a b',
    '/a%2Fb',
    '/a?b',
    '/a#b',
    '/é',
    '/a, /b',
    '/a;b',
    '/a\\b',
    '/a\tb',
    '/a"b',
  ]
  for (const prefix of [...forms, ...hostile]) {
    t.equal(await locationOf(t, plain, prefix), '/docs/', JSON.stringify(prefix))
    t.equal(await locationOf(t, configured, prefix), '/set/below/docs/', JSON.stringify(prefix))
  }
})

t.test('a job is followed where its Location leads, also when it is answered again', async (t) => {
  for (const [service, prefix] of [
    [plain, '/pricing'],
    [configured, '/set/below'],
  ] as const) {
    const { shop, job: first } = await aBigJob(t, service)
    await shop.finished(first)
    const payload = Array.from({ length: 101 }, (_, index) => ({
      code: `P${String(index).padStart(3, '0')}`,
      country: 'UK',
    }))
    const key = { 'idempotency-key': 'k1' }
    const said = prefix === '/pricing' ? { 'x-forwarded-prefix': prefix } : {}
    const post = (headers: object) =>
      shop.send('POST', job, { name: 'L', payload }, { ...key, ...headers })
    const { headers, body } = await post(said)
    t.equal(headers.location, `${prefix}/api/v1/jobs/${body.id}/`)
    t.equal((await post(said)).headers.location, headers.location, 'replayed')
    const elsewhere = (await post({ 'x-forwarded-prefix': '/other' })).headers.location
    t.equal(elsewhere, `/other/api/v1/jobs/${body.id}/`, 'replayed through another proxy')
  }
})

t.test('a file for a job, too', async (t) => {
  const account = await plain.newAccount(t)
  const file = 'transaction_id,code,extension,quantity,revenue\n1,A,,1,1\n'
  const { headers, body } = await account.send(
    'POST',
    '/api/v1/sales_history/bulk_create_or_update',
    file,
    { 'content-type': 'text/csv', prefer: 'respond-async', 'x-forwarded-prefix': '/pricing' },
  )
  t.equal(headers.location, `/pricing/api/v1/jobs/${body.id}/`)
})

t.test('the server of the contract is below the prefix', async (t) => {
  const { servers, ...rest } = readContract()
  for (const [service, headers, url] of [
    [plain, {}, '/'],
    [plain, { 'x-forwarded-prefix': '/pricing' }, '/pricing'],
    [configured, {}, '/set/below'],
  ] as const) {
    const expected = { ...rest, servers: [{ ...servers[0], url }] }
    const yaml = await send(t, service, { method: 'GET', path: '/openapi.yaml', headers })
    t.strictSame(parse(yaml.body), expected, `YAML at ${url}`)
    const { body } = await send(t, service, { method: 'GET', path: '/openapi.json', headers })
    t.strictSame(body, expected, `JSON at ${url}`)
  }
})

for (const saysSo of [true, false]) {
  const how = saysSo ? 'that names its prefix' : 'whose prefix is set'
  t.test(`behind a proxy ${how}`, async (t) => {
    const prefix = '/pricing'
    const service = saysSo ? plain : await startTestService(t, { BASE_PATH: prefix })
    const target = await service.app.listen({ port: 0, host: '127.0.0.1' })
    const url = await startStrippingProxy(t, target, { prefix, saysSo })

    await t.test('each file that the page and /docs name is there', async (t) => {
      for (const page of ['/', '/docs', '/docs/', '/docs/?x=1', '/docs?x=1']) {
        const html = await (await fetch(url + page)).text()
        const names = [...html.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, name = '']) => name)
        t.ok(names.length >= 4, page)
        for (const name of names)
          t.equal((await fetch(new URL(name, url + page))).status, 200, `${page}: ${name}`)
      }
    })

    await t.test('Swagger UI sends to the service', async (t) => {
      const { servers } = (await (await fetch(`${url}/docs/json`)).json()) as {
        servers: [{ url: string }]
      }
      const server = new URL(servers[0].url, `${url}/docs/json`)
      t.equal((await fetch(new URL('health/live', server))).status, 200)
    })

    await t.test('a client logs in and works', async (t) => {
      const user = { email: `a${saysSo}@example.com`, password: 'a long enough password' }
      await createAccount(service.url, { account: how, ...user })
      const client = createClient({ baseUrl: url, credentials: user })
      const { data } = await client.GET('/api/v1/jobs/')
      t.equal(data.count, 0)
    })
  })
}
