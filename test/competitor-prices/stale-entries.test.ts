import t from 'tap'
import { expectAllFaults } from '../helpers/faults.ts'
import { aMarket, anEntry, listPath, loadPath, uncommitted } from '../helpers/market.ts'
import type { TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { untilLockAwaited } from '../helpers/sql.ts'

const service = await sharedService()
const schema = { attributes_config: ['code'] }
const [older, same, newer] = ['2026-01-01', '2026-01-02', '2026-01-03']
const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()

/** A market that has A, B and C at price 1, of 2 January. */
async function aStock(): Promise<TestAccount> {
  const market = await aMarket(t, service, schema)
  const stock = ['A', 'B', 'C'].map((code) =>
    anEntry({ code, competitor_price: 1, latest_update: same }),
  )
  await market.post(loadPath, stock)
  return market
}

/** A is stale, B as old as what is stored, C newer, D new. */
const observed = [
  anEntry({ code: 'C', competitor_price: 4, latest_update: newer }),
  anEntry({ code: 'A', competitor_price: 2, latest_update: older }),
  anEntry({ code: 'D', competitor_price: 5, latest_update: older }),
  anEntry({ code: 'B', competitor_price: 3, latest_update: same }),
]

async function pricesOf(market: TestAccount): Promise<Record<string, number>> {
  const { results } = (await market.get(listPath)).body
  return Object.fromEntries(
    results.map(({ code, competitor_price }: Record<string, never>) => [code, competitor_price]),
  )
}

const files: Record<string, [type: string, text: string]> = {
  CSV: [
    'text/csv',
    `code,competitor_name,competitor_price,latest_update\n${observed
      .map((row) => `${row.code},Rival,${row.competitor_price},${row.latest_update}\n`)
      .join('')}`,
  ],
  NDJSON: ['application/x-ndjson', observed.map((row) => `${JSON.stringify(row)}\n`).join('')],
}

t.test('without on_stale, and with write, an older entry replaces a newer one', async (t) => {
  for (const query of ['', '?on_stale=write']) {
    const market = await aStock()
    const { status, headers, body } = await market.post(loadPath + query, observed)
    t.equal(status, 201)
    t.notOk('skipped-rows' in headers)
    t.strictSame([body.created.length, body.updated.length], [1, 3])
    t.strictSame(await pricesOf(market), { A: 2, B: 3, C: 4, D: 5 })
  }
})

t.test('skip leaves stale entries out of the answer and writes nothing of them', async (t) => {
  const market = await aStock()
  const hashes = (await market.post(loadPath, observed.slice(0, 2))).body.updated
  await market.post(loadPath, [anEntry({ code: 'A', competitor_price: 1, latest_update: same })])
  const { status, headers, body } = await market.post(`${loadPath}?on_stale=skip`, observed)
  t.equal(status, 201)
  t.equal(headers['skipped-rows'], '1')
  t.strictSame([body.created.length, body.updated.length], [1, 2])
  t.equal(body.updated[0], hashes[0])
  t.notOk(body.updated.includes(hashes[1]))
  t.strictSame(await pricesOf(market), { A: 1, B: 3, C: 4, D: 5 })
})

t.test('skip says 0 when nothing is stale', async (t) => {
  const market = await aStock()
  for (const body of [[], [anEntry({ latest_update: newer })], [anEntry({ code: 'E' })]])
    t.equal((await market.post(`${loadPath}?on_stale=skip`, body)).headers['skipped-rows'], '0')
})

t.test('an entry that is sent again is not stale', async (t) => {
  const market = await aStock()
  const again = [anEntry({ competitor_price: 1, latest_update: same })]
  for (const query of ['?on_stale=skip', '?on_stale=reject']) {
    const { status, body } = await market.post(loadPath + query, again)
    t.equal(status, 201)
    t.equal(body.updated.length, 1)
  }
})

t.test('reject names the stale entries with both moments, and writes nothing', async (t) => {
  const market = await aStock()
  const stale = anEntry({ code: 'C', latest_update: '2026-01-01T10:00:00.5Z' })
  const refused = await market.post(`${loadPath}?on_stale=reject`, [...observed.slice(1), stale])
  t.match(refused, { status: 409, body: { type: 'stale-rows', error_count: 2 } })
  t.match(refused.body.detail, /^2 entries are older .* Nothing was written\.$/)
  const message = (sent: string) =>
    `latest_update ${sent} is older than the stored one, 2026-01-02T00:00:00.000Z`
  t.strictSame(refused.body.errors, [
    { pointer: '/0', row: 0, code: 'stale', message: message('2026-01-01T00:00:00.000Z') },
    { pointer: '/3', row: 3, code: 'stale', message: message('2026-01-01T10:00:00.500Z') },
  ])
  t.strictSame(await pricesOf(market), { A: 1, B: 1, C: 1 })
  const fresh = anEntry({ code: 'D' })
  const repeated = await market.post(`${loadPath}?on_stale=reject`, [fresh, fresh, stale])
  t.match(repeated.body, { error_count: 1, errors: [{ pointer: '/2', row: 2 }] })
})

t.test('reject writes all where nothing is stale', async (t) => {
  const market = await aStock()
  const fresh = observed.filter(({ code }) => code !== 'A')
  const { status, headers, body } = await market.post(`${loadPath}?on_stale=reject`, fresh)
  t.equal(status, 201)
  t.notOk('skipped-rows' in headers)
  t.strictSame([body.created.length, body.updated.length], [1, 2])
  t.strictSame(await pricesOf(market), { A: 1, B: 3, C: 4, D: 5 })
})

t.test('of many stale entries the first 1,000 are named, in payload order', async (t) => {
  const market = await aMarket(t, service, schema)
  const entries = (latest_update: string) =>
    Array.from({ length: 1200 }, (_, index) => anEntry({ code: `P${index}`, latest_update }))
  await market.post(loadPath, entries(same))
  const { body } = await market.post(`${loadPath}?on_stale=reject`, entries(older))
  t.equal(body.error_count, 1200)
  t.strictSame(
    body.errors.map(({ row }: { row: number }) => row),
    Array.from({ length: 1000 }, (_, row) => row),
  )
})

t.test('bad rows come before stale rows', async (t) => {
  const market = await aStock()
  const body = [...observed, anEntry({ competitor_price: -1 })]
  expectAllFaults(t, await market.post(`${loadPath}?on_stale=reject`, body), [
    ['/4/competitor_price', 'range'],
  ])
  const twice = [...observed, anEntry({ latest_update: newer })]
  expectAllFaults(t, await market.post(`${loadPath}?on_stale=reject`, twice), [
    ['/4', 'duplicate_row'],
  ])
})

t.test('an entry without a moment counts as of the call', async (t) => {
  const market = await aMarket(t, service, schema)
  const ahead = [
    anEntry({ code: 'A', latest_update: inHours(1) }),
    anEntry({ code: 'B', latest_update: inHours(-1) }),
  ]
  await market.post(loadPath, ahead)
  const now = ['A', 'B'].map((code) => anEntry({ code, competitor_price: 9 }))
  const skipping = await market.post(`${loadPath}?on_stale=skip`, now)
  t.equal(skipping.headers['skipped-rows'], '1')
  t.strictSame(await pricesOf(market), { A: 2.55, B: 9 })
  const refused = await market.post(`${loadPath}?on_stale=reject`, now)
  t.match(refused.body, { type: 'stale-rows', error_count: 1, errors: [{ row: 0 }] })
})

t.test('latest_update is at most a day ahead, whatever on_stale says', async (t) => {
  const market = await aMarket(t, service, schema)
  const rows = [
    anEntry({ code: 'A', latest_update: inHours(23.9) }),
    anEntry({ code: 'B', latest_update: inHours(24.1) }),
    anEntry({ code: 'C', latest_update: '9999-12-31' }),
    anEntry({ code: 'D', latest_update: '9999-12-31T23:59:59.999999999+14' }),
  ]
  const faults = ['/1', '/2', '/3'].map((row): [string, string] => [
    `${row}/latest_update`,
    'too_far_ahead',
  ])
  for (const query of ['', '?on_stale=skip', '?on_stale=reject'])
    expectAllFaults(t, await market.post(loadPath + query, rows), faults)
  t.equal((await market.post(loadPath, rows.slice(0, 1))).status, 201)
})

t.test('on_stale is one of three words', async (t) => {
  const market = await aStock()
  for (const word of ['keep', '', 'SKIP']) {
    const { status, body } = await market.post(`${loadPath}?on_stale=${word}`, [])
    t.match({ status, body }, { status: 400, body: { type: 'invalid-request' } })
  }
})

t.test('a file skips stale entries and says how many', async (t) => {
  for (const [name, [type, text]] of Object.entries(files)) {
    const market = await aStock()
    const sent = (body: string) =>
      market.send('POST', `${loadPath}?on_stale=skip`, body, { 'content-type': type })
    const { status, headers, body } = await sent(text)
    t.match({ status, skipped: headers['skipped-rows'] }, { status: 201, skipped: '1' }, name)
    t.strictSame(body, { rows: 4, created: 1, updated: 2, unchanged: 0, skipped: 1 }, name)
    t.strictSame(await pricesOf(market), { A: 1, B: 3, C: 4, D: 5 }, name)
    const none = await sent(text.split('\n').slice(0, 1).join('\n'))
    t.match([none.headers['skipped-rows'], none.body.skipped], ['0', 0], name)
  }
})

t.test('a file with stale entries is rejected, its lines named', async (t) => {
  for (const [name, [type, text]] of Object.entries(files)) {
    const market = await aStock()
    const send = (accept: string) =>
      market.send('POST', `${loadPath}?on_stale=reject`, text, { 'content-type': type, accept })
    const { status, body } = await send('*/*')
    t.match({ status, type: body.type }, { status: 409, type: 'stale-rows' }, name)
    const line = name === 'CSV' ? 3 : 2
    t.match(body.errors, [{ pointer: '/1', row: 1, line, code: 'stale' }], name)
    const rejected = await send(`${type}, application/problem+json;q=0.5`)
    t.match(rejected, { status: 409, headers: { 'rejected-rows': '1' } }, name)
    t.match(rejected.body.split('\n').at(-2), /is older than the stored one/, name)
    t.strictSame(await pricesOf(market), { A: 1, B: 1, C: 1 }, name)
  }
})

t.test('the answer that an Idempotency-Key keeps has Skipped-Rows, too', async (t) => {
  const market = await aStock()
  const [type, text] = files.CSV as [string, string]
  const bodies: [unknown, string][] = [
    [observed, 'application/json'],
    [text, type],
  ]
  for (const [body, contentType] of bodies) {
    const send = () =>
      market.send('POST', `${loadPath}?on_stale=skip`, body, {
        'content-type': contentType,
        'idempotency-key': contentType,
      })
    const first = await send()
    const again = await send()
    t.equal(again.headers['idempotent-replayed'], 'true')
    t.equal(again.headers['skipped-rows'], '1')
    t.strictSame(again.body, first.body)
  }
})

t.test('a job keeps the on_stale of its call', async (t) => {
  const market = await aStock()
  const [type, text] = files.CSV as [string, string]
  const send = (query: string) =>
    market.send('POST', loadPath + query, text, {
      'content-type': type,
      prefer: 'respond-async',
    })
  const rejected = await market.finished((await send('?on_stale=reject')).body)
  t.match(rejected, { status: 'failed', progress: { error: 1 } })
  t.match(rejected.errors, [
    { code: 'stale-rows', message: /^1 entry is older/ },
    { code: 'stale', pointer: '/1', row: 1, line: 3 },
  ])
  t.equal(rejected.errors.length, 2)
  t.strictSame(await pricesOf(market), { A: 1, B: 1, C: 1 })
  const skipping = await market.finished((await send('?on_stale=skip')).body)
  t.strictSame(skipping.result, { rows: 4, created: 1, updated: 2, unchanged: 0, skipped: 1 })
  const writing = await market.finished((await send('')).body)
  t.strictSame(writing.result, { rows: 4, created: 0, updated: 4, unchanged: 3 })
  t.strictSame(await pricesOf(market), { A: 2, B: 3, C: 4, D: 5 })
})

t.test('an entry that another call is writing is compared when that is done', async (t) => {
  const hash = `sha256('["A","Rival",null]')`
  const values = `$1, ${hash}, array['A'], 'Rival', 7, '${newer}'`
  const insert = `insert into competitor_prices
    (account_id, hash, dimensions, competitor_name, competitor_price, latest_update) values (${values})`
  const change = `update competitor_prices set competitor_price = 7, latest_update = '${newer}'
    where account_id = $1 and hash = ${hash}`
  const entry = anEntry({ latest_update: same, competitor_price: 8 })
  for (const statement of [insert, change]) {
    const market = await aMarket(t, service, schema)
    if (statement === change) await market.post(loadPath, [anEntry({ latest_update: older })])
    const commit = await uncommitted(service.url, market.id, statement)
    const loading = market.post(`${loadPath}?on_stale=skip`, [entry])
    await untilLockAwaited(service.url, 'pricewell writes', loading)
    await commit()
    t.match(await loading, {
      status: 201,
      body: { created: { length: 0 }, updated: { length: 0 } },
    })
    t.equal((await loading).headers['skipped-rows'], '1')
    t.equal((await market.get(listPath)).body.results[0].competitor_price, 7)
    const refused = await market.post(`${loadPath}?on_stale=reject`, [entry])
    t.equal(refused.status, 409)
  }
})

t.test('of calls at the same time the newest wins', async (t) => {
  const market = await aMarket(t, service, schema)
  const codes = Array.from({ length: 100 }, (_, index) => `P${index}`)
  const days = Array.from({ length: 8 }, (_, index) => index + 1).sort(() => Math.random() - 0.5)
  const answers = await Promise.all(
    days.map((day) => {
      const entries = codes.map((code) =>
        anEntry({ code, competitor_price: day, latest_update: `2026-01-0${day}` }),
      )
      return market.post(`${loadPath}?on_stale=skip`, entries)
    }),
  )
  for (const { headers, body } of answers) {
    const done = body.created.length + body.updated.length
    t.equal(done + Number(headers['skipped-rows']), codes.length)
  }
  t.equal(answers.flatMap(({ body }) => body.created).length, codes.length)
  const { results } = (await market.get(`${listPath}?limit=200`)).body
  t.ok(results.every((row: Record<string, unknown>) => row.competitor_price === 8))
})
