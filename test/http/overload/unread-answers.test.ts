import { EventEmitter, once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { UnreadResponses } from '../../../src/http/overload/memory-budget.ts'
import { expectConformant } from '../../helpers/conformant.ts'
import { startTestService, type TestAccount } from '../../helpers/service.ts'
import { addProducts, aList, aShopOf } from '../../helpers/shop.ts'

const service = await startTestService(t)
await service.app.listen({ port: 0, host: '127.0.0.1' })
const { port } = service.app.server.address() as AddressInfo
/** 1020 bytes. */
const longText = '😀'.repeat(255)

interface Read {
  method: string
  path: string
  accept: string
  status: number
  body?: object
}

const pricesPath = '/api/v1/prices/get_prices/'
const productsPath = '/api/v1/product_catalog/'
const prices = {
  method: 'POST',
  path: pricesPath,
  accept: 'application/json',
  status: 201,
  body: { price_list_name: longText, payload: Array(15_000).fill({ code: 'P0' }) },
}
/** Reads of 31 to 32 MB as `countTwice` counts them; an account may leave four unread. */
const reads: Record<string, Read> = {
  'pages of a list': {
    method: 'GET',
    path: `${productsPath}?limit=500`,
    accept: '*/*',
    status: 200,
  },
  'prices in pieces': prices,
}

const attributes = Array.from({ length: 30 }, (_, index) => `a${index}`)
const products = Array.from({ length: 500 }, (_, index) => ({
  ...Object.fromEntries(attributes.map((name) => [name, longText])),
  code: `P${index}`,
}))

/** With a list whose name is long, of one product. */
async function anAccountOfMuch(t: Test): Promise<TestAccount> {
  const schema = { attributes: attributes.map((name) => ({ name, type: 'string' })) }
  const account = await aShopOf(t, service, schema, products)
  await aList(account, { name: longText })
  await addProducts(account, longText, [{ code: 'P0' }])
  return account
}

/** Answers count twice until the test ends: half as large, a slow machine makes them in time, too. */
function countTwice(t: Test): void {
  const { hold } = UnreadResponses.prototype
  UnreadResponses.prototype.hold = function (account, bytes, client) {
    return hold.call(this, account, 2 * bytes, client)
  }
  t.teardown(() => {
    UnreadResponses.prototype.hold = hold
  })
}

/** The head of an answer, of which nothing more is read. */
async function begin(
  account: TestAccount,
  { method, path, accept, body }: Read,
): Promise<IncomingMessage> {
  const headers = {
    accept,
    authorization: `jwt ${account.token}`,
    'content-type': 'application/json',
  }
  const sent = request({ port, host: '127.0.0.1', method, path, headers, agent: new Agent() })
  sent.end(body && JSON.stringify(body))
  const [answer] = await once(sent, 'response')
  return answer
}

async function readWhole(answer: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of answer.setEncoding('utf8')) text += chunk
  return text
}

/** Begins reads until one is refused. */
async function fill(account: TestAccount, read: Read) {
  const unread: IncomingMessage[] = []
  for (;;) {
    const answer = await begin(account, read)
    if ((answer.statusCode ?? 0) >= 400 || unread.length === 10) return { unread, refused: answer }
    unread.push(answer)
  }
}

/** Begins a read as soon as its account may. */
async function beginLater(account: TestAccount, read: Read): Promise<IncomingMessage> {
  for (;;) {
    const answer = await begin(account, read)
    if (answer.statusCode !== 429) return answer
    answer.destroy()
    await sleep(50)
  }
}

for (const [name, read] of Object.entries(reads)) {
  t.test(`an account that does not read its ${name} is answered no more of them`, async (t) => {
    countTwice(t)
    const account = await anAccountOfMuch(t)
    const { unread, refused } = await fill(account, read)
    t.equal(unread.length, 4)
    t.equal(refused.statusCode, 429)
    t.equal(refused.headers['retry-after'], '1')
    const answer = {
      status: 429,
      headers: refused.headers,
      body: JSON.parse(await readWhole(refused)),
    }
    expectConformant(t, read.method, read.path.split('?')[0] as string, answer)
    t.equal(answer.body.detail, 'Read the answers that this account was sent first.')

    await t.test('but what is small, and other accounts', async (t) => {
      t.equal((await account.get(`${productsPath}?code=absent`)).status, 200)
      const other = await anAccountOfMuch(t)
      t.equal((await begin(other, read)).destroy().statusCode, read.status)
    })

    await t.test('until one of them is left', async (t) => {
      unread.shift()?.destroy()
      const next = await beginLater(account, read)
      t.equal(next.statusCode, read.status)
      unread.push(next)
    })

    await t.test('until one of them is read', async (t) => {
      t.ok((await readWhole(unread.shift() as IncomingMessage)).length > 7_000_000)
      t.equal((await beginLater(account, read)).destroy().statusCode, read.status)
      for (const one of unread) one.destroy()
    })
  })
}

t.test('a write that is done is answered, whatever others have not read', async (t) => {
  const { hold } = UnreadResponses.prototype
  t.teardown(() => (UnreadResponses.prototype.hold = hold))
  const held: number[] = []
  UnreadResponses.prototype.hold = function (account, bytes, client) {
    held.push(bytes)
    return hold.call(this, account, bytes, client)
  }
  const service = await startTestService(t)
  const account = await service.newAccount(t)
  const products = [{ code: 'A' }]
  await account.post('/api/v1/product_catalog/bulk_create_or_update/', products)
  t.strictSame(held, [], 'the answer of a write is not counted, nor refused')
  await account.get('/api/v1/product_catalog/')
  t.equal(held.length, 1, 'that of a read is')
})

t.test('the answer to a client that has gone already takes no room', async (t) => {
  const unread = new UnreadResponses()
  const client = (destroyed: boolean) => Object.assign(new EventEmitter(), { destroyed })
  const bytes = 200 * 1024 * 1024
  unread.hold(1, bytes, client(true))
  t.doesNotThrow(() => unread.hold(1, bytes, client(false)))
})
