import { once } from 'node:events'
import net from 'node:net'
import t from 'tap'
import { holdableWrites } from '../helpers/held-writes.ts'
import { startTestService } from '../helpers/service.ts'

const service = await startTestService(t, { BODY_LIMIT_MB: '1' })
await service.app.listen({ port: 0, host: '127.0.0.1' })
const { port } = service.app.server.address() as net.AddressInfo
const path = '/api/v1/sales_history/bulk_create_or_update'

/** Sends parts of bytes and answers what came back until the server, or we after a while, closed. */
async function exchange(parts: (string | Buffer)[], waitMs = 400): Promise<string> {
  const socket = net.connect(port, '127.0.0.1')
  let answer = ''
  socket.on('data', (chunk) => {
    answer += chunk
  })
  socket.on('error', () => undefined)
  const closed = new Promise((resolve) => socket.on('close', resolve))
  for (const part of parts) {
    if (socket.writable) socket.write(part)
    await new Promise((resolve) => setImmediate(resolve))
  }
  const timer = setTimeout(() => socket.destroy(), waitMs)
  await closed
  clearTimeout(timer)
  return answer
}

function sale(id: string): string {
  return `[{"transaction_id":"${id}","code":"C","extension":"","quantity":"1","revenue":"1"}]`
}

function statuses(answer: string): number[] {
  return [...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => Number(match[1]))
}

t.test('HTTP that can be read in two ways is refused without any effect', async (t) => {
  const account = await service.newAccount(t)
  const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: jwt ${account.token}\r\nContent-Type: application/json\r\n`
  const body = sale('S')
  const hidden = `${head}Content-Length: ${body.length}\r\n\r\n${body}`
  const length = `Content-Length: ${body.length}\r\n`
  const chunked = 'Transfer-Encoding: chunked\r\n'
  const cases: Record<string, string> = {
    'length and chunked': `${head}${length}${chunked}\r\n0\r\n\r\n${hidden}`,
    'chunked and length': `${head}${chunked}Content-Length: 4\r\n\r\n5c\r\n${hidden}\r\n0\r\n\r\n`,
    'two lengths': `${head}Content-Length: 2\r\n${length}\r\n${body}`,
    'the same length twice': `${head}${length}${length}\r\n${body}`,
    'a list of lengths': `${head}Content-Length: ${body.length}, ${body.length}\r\n\r\n${body}`,
    'a negative length': `${head}Content-Length: -1\r\n\r\n${body}`,
    'a signed length': `${head}Content-Length: +${body.length}\r\n\r\n${body}`,
    'a hexadecimal length': `${head}Content-Length: 0x5c\r\n\r\n${body}`,
    'a length that no number holds': `${head}Content-Length: 99999999999999999999999\r\n\r\n${body}`,
    'an unknown transfer coding': `${head}Transfer-Encoding: xchunked\r\n\r\n${body}`,
    'a coding before chunked': `${head}Transfer-Encoding: gzip, chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    'chunked is not the last coding': `${head}Transfer-Encoding: chunked, identity\r\n\r\n${body}`,
    'a blank before the colon': `${head}Content-Length : ${body.length}\r\n\r\n${body}`,
    'a header over two lines': `${head}X: a\r\n b\r\nContent-Length\r\n : ${body.length}\r\n\r\n${body}`,
    'NUL in a header': `${head}X: a\0b\r\n${length}\r\n${body}`,
    'a header name with a line feed': `${head}X\n: a\r\n${length}\r\n${body}`,
    'a header without a name': `${head}: a\r\n${length}\r\n${body}`,
    'a bare carriage return': `${head}X: a\rY: b\r\n${length}\r\n${body}`,
    'no host': hidden.replace('Host: a\r\n', ''),
    'a bad chunk size': `${head}${chunked}\r\nzz\r\n${body}\r\n0\r\n\r\n`,
    'a chunk that is longer than its size': `${head}${chunked}\r\n5\r\n${body}\r\n0\r\n\r\n`,
    'a negative chunk size': `${head}${chunked}\r\n-5\r\n${body}\r\n0\r\n\r\n`,
    'a chunk size that no number holds': `${head}${chunked}\r\nfffffffffffffffff\r\n${body}\r\n0\r\n\r\n`,
    'an unknown method': hidden.replace('POST', 'STEAL'),
    'a method in lower case': hidden.replace('POST', 'post'),
    'HTTP 0.9': `GET ${path}\r\n\r\n`,
    'HTTP 3.0': hidden.replace('HTTP/1.1', 'HTTP/3.0'),
    'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'a TLS hello': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    'a blank in the path': hidden.replace(path, `${path} x`),
    'headers that are too large': `${head}X: ${'x'.repeat(20_000)}\r\n${length}\r\n${body}`,
    'no request': '\0\0\0\0\r\n\r\n',
  }
  for (const [name, bytes] of Object.entries(cases)) {
    const answer = await exchange([bytes])
    const seen = statuses(answer)
    t.ok(
      seen.every((status) => status >= 400 && status < 500),
      `${name}: ${seen.join(', ') || 'closed'}`,
    )
    // Node itself answers a request without a Host header.
    const isOurs = seen.length > 0 && name !== 'no host'
    if (isOurs) t.match(answer, /content-type: application\/problem\+json/i, name)
    t.notMatch(answer, /"transaction_id"|eyJ|HPE_|\n {4}at /, `${name}: nothing is told`)
  }
  t.equal((await account.get('/api/v1/sales_history/')).body.count, 0, 'nothing was written')
})

t.test(
  'whole requests are answered before a bad one behind them closes the connection',
  async (t) => {
    const account = await service.newAccount(t)
    const held = await holdableWrites(t, service.url, 'sales')
    const request = (id: string) =>
      `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: jwt ${account.token}\r\nContent-Type: application/json\r\nContent-Length: ${sale(id).length}\r\n\r\n${sale(id)}`
    const read = `GET /health/live HTTP/1.1\r\nHost: a\r\n`
    const tooMuch = `${read}X: ${'x'.repeat(20_000)}\r\n\r\n`
    const cases: Record<string, [string[], number[]]> = {
      'in the same packet': [[`${request('A')}GARBAGE\r\n\r\n`], [201]],
      'again and again': [[request('B'), ...Array(20).fill('GARBAGE\r\n\r\n')], [201]],
      'behind two': [[`${request('C')}${request('D')}GARBAGE\r\n\r\n`], [201, 201]],
      'too large': [[`${request('E')}${tooMuch}`], [201]],
      'broken off': [[`${request('F')}${request('G').replace(/\d+(?=\r\n\r\n)/, '-1')}`], [201]],
      'behind the last of a connection': [[`${read}Connection: close\r\n\r\n${read}\r\n`], [200]],
    }
    for (const [name, [parts, expected]] of Object.entries(cases)) {
      const isWrite = expected[0] === 201
      if (isWrite) await held.hold()
      const answer = exchange(parts, 20_000)
      if (isWrite) await held.untilHeld()
      await held.release()
      t.strictSame(statuses(await answer), expected, name)
    }
    t.equal((await account.get('/api/v1/sales_history/')).body.count, 6)
  },
)

t.test('a body that breaks off writes nothing', async (t) => {
  const account = await service.newAccount(t)
  const body = sale('S')
  const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: jwt ${account.token}\r\nContent-Type: application/json\r\n`
  await exchange([`${head}Content-Length: ${body.length + 1}\r\n\r\n${body}`], 200)
  await exchange(
    [`${head}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n`],
    200,
  )
  const short = await exchange([`${head}Content-Length: ${body.length - 1}\r\n\r\n${body}`], 5000)
  t.equal(statuses(short)[0], 400, 'a body that is longer than its length')
  t.equal((await account.get('/api/v1/sales_history/')).body.count, 0)
})

t.test(
  'requests in small packets and one after the other on a connection are answered',
  async (t) => {
    const account = await service.newAccount(t)
    const request = (id: string, last: boolean) =>
      `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: jwt ${account.token}\r\nContent-Type: application/json\r\nContent-Length: ${sale(id).length}\r\n${last ? 'Connection: close\r\n' : ''}\r\n${sale(id)}`
    const single = await exchange([...request('A', true)], 5000)
    t.strictSame(statuses(single), [201], 'byte by byte')
    const pipelined = await exchange(
      [request('B', false) + request('C', false) + request('D', true)],
      5000,
    )
    t.strictSame(statuses(pipelined), [201, 201, 201], 'three at once')
    const chunk = sale('E')
      .split('')
      .map((character) => `1\r\n${character}\r\n`)
    const head = request('E', true)
      .split('\r\n\r\n')[0]
      ?.replace(/Content-Length: \d+\r\n/, '')
    const chunked = await exchange(
      [`${head}\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.join('')}0\r\n\r\n`],
      5000,
    )
    t.strictSame(statuses(chunked), [201], 'a chunk a byte')
    t.equal((await account.get('/api/v1/sales_history/')).body.count, 5)
  },
)

t.test(
  'a body that is refused when it is whole leaves its connection to the next request',
  async (t) => {
    const account = await service.newAccount(t)
    const request = (body: string, more = '') =>
      `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: jwt ${account.token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n${more}\r\n${body}`
    const last = request(sale('L'), 'Connection: close\r\n')
    const answer = await exchange([request('[{') + request('[{"code":1e400}]') + last], 5000)
    t.strictSame(statuses(answer), [400, 400, 201])
  },
)

t.test('without a valid token the body is not waited for', async (t) => {
  const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n`
  for (const credentials of ['', 'Authorization: jwt a.b.c\r\n', 'Authorization: Bearer x\r\n']) {
    const answer = await exchange([`${head}${credentials}Content-Length: 60000000\r\n\r\n`], 2000)
    t.strictSame(statuses(answer), [401], credentials)
    t.match(answer, /www-authenticate: jwt\r\n/i)
    t.match(answer, /content-type: application\/problem\+json/i)
  }
  const account = await service.newAccount(t)
  const declared = await exchange(
    [`${head}Authorization: jwt ${account.token}\r\nContent-Length: 1048577\r\n\r\n`],
    2000,
  )
  t.strictSame(statuses(declared), [413], 'a length over the limit is refused before the body')
  t.match(declared, /1048576.*1048577/)
})

t.test('a chunked body over the limit is answered 413 with the limit', async (t) => {
  const account = await service.newAccount(t)
  const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: jwt ${account.token}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`
  const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`
  const answer = await exchange(
    [head, ...Array.from({ length: 20 }, () => chunk), '0\r\n\r\n'],
    3000,
  )
  t.strictSame(statuses(answer), [413])
  t.match(answer, /1048576 bytes, this one has more/)
})

t.test(
  'a client that goes on with a refused chunked body gets an answer to its next request',
  async (t) => {
    const { token } = await service.newAccount(t)
    const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: jwt ${token}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`
    const chunk = `100000\r\n${' '.repeat(1_048_576)}\r\n`
    const socket = net.connect(port, '127.0.0.1')
    t.teardown(() => socket.destroy())
    socket.write(`${head}${chunk}${chunk}`)
    const [refusal] = await once(socket, 'data')
    t.strictSame(statuses(String(refusal)), [413])
    for (let more = 0; more < 20; more++) socket.write(chunk)
    socket.write(`0\r\n\r\nGET /health/live HTTP/1.1\r\nHost: a\r\n\r\n`)
    const [answer] = await once(socket, 'data')
    t.strictSame(statuses(String(answer)), [200])
  },
)

t.test('a client that sends a whole body over the limit reads why it was refused', async (t) => {
  const account = await service.newAccount(t)
  const url = `http://127.0.0.1:${port}${path}`
  for (const megabytes of [2, 8, 32]) {
    const body = Buffer.alloc(megabytes * 1024 * 1024, ' ')
    for (const [token, status] of [
      [account.token, 413],
      ['a.b.c', 401],
    ] as const) {
      const headers = { authorization: `jwt ${token}`, 'content-type': 'application/json' }
      const response = await fetch(url, { method: 'POST', headers, body })
      t.equal(response.status, status, `${megabytes} MB`)
      t.match(await response.json(), { status: response.status })
    }
  }
})

t.test(
  'a client that sends a file to an operation without files reads why it was refused',
  async (t) => {
    const account = await service.newAccount(t)
    for (const path of [
      '/login/',
      '/api/v1/prices/get_prices/',
      '/api/v1/price_list/bulk_create/',
    ]) {
      for (const type of ['text/csv', 'application/x-ndjson']) {
        const headers = { authorization: `jwt ${account.token}`, 'content-type': type }
        const body = Buffer.alloc(8 * 1024 * 1024, ' ')
        const sent = { method: 'POST', headers, body }
        for (let one = 0; one < 3; one++) {
          const response = await fetch(`http://127.0.0.1:${port}${path}`, sent)
          t.equal(response.status, 415, `${path} ${type}`)
          t.match(await response.json(), { type: 'unsupported-media-type' })
        }
      }
    }
  },
)

t.test('what the router takes for a query behind # is looked at like one', async (t) => {
  const { token } = await service.newAccount(t)
  const head = `Host: a\r\nAuthorization: jwt ${token}\r\nConnection: close\r\n\r\n`
  for (const query of ['#name=%00', '#name=%FF', '?limit=1#&name=%00', '#?name=%00', '#a', '#?b']) {
    const answer = await exchange([`GET /api/v1/price_list/${query} HTTP/1.1\r\n${head}`], 5000)
    t.strictSame(statuses(answer), [400], query)
  }
})

t.test('a request that is sent again with # is the same', async (t) => {
  const { token } = await service.newAccount(t)
  const body = sale('behind')
  const head = `Host: a\r\nAuthorization: jwt ${token}\r\nContent-Type: application/json\r\nIdempotency-Key: k1\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`
  const seen: [number[], boolean][] = []
  for (const end of ['', '#', '/#']) {
    const answer = await exchange([`POST ${path}${end} HTTP/1.1\r\n${head}${body}`], 5000)
    seen.push([statuses(answer), /idempotent-replayed: true/.test(answer)])
  }
  t.strictSame(seen, [
    [[201], false],
    [[201], true],
    [[201], true],
  ])
})
