import t from 'tap'
import { aMarket, anEntry, listPath, loadPath } from '../helpers/market.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService()

t.test('shows entries as they were written, values of columns as strings', async (t) => {
  const market = await aMarket(t, service, {
    attributes_config: ['code', 'size', 'organic'],
    is_dated: true,
  })
  const dated = {
    ...anEntry({ size: '42', organic: 'true' }),
    departure_date: '2026-07-01',
    latest_update: '2026-03-01T12:00:00+02:00',
  }
  const { body: hashes } = await market.post(loadPath, [
    dated,
    anEntry({ size: '-1', organic: 'false', latest_update: '2026-03-01' }),
  ])
  const { status, body } = await market.get(listPath)
  t.equal(status, 200)
  t.equal(body.count, 2)
  const byHash = new Map(body.results.map((row: { hash: string }) => [row.hash, row]))
  const { id, ...first } = byHash.get(hashes.created[0]) as Record<string, unknown>
  t.ok(Number.isSafeInteger(id))
  t.strictSame(first, {
    ...dated,
    hash: hashes.created[0],
    latest_update: '2026-03-01T10:00:00.000Z',
  })
  t.match(byHash.get(hashes.created[1]), {
    size: '-1',
    organic: 'false',
    latest_update: '2026-03-01T00:00:00.000Z',
    departure_date: undefined,
  })
})

t.test('numbers are shown without an exponent, and are loaded again as the same', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['code', 'weight'] })
  const zeros = (count: number) => '0'.repeat(count)
  const weights = ['1.50', '0.000001', `1${zeros(20)}`, `1${zeros(21)}`, `-9.75${zeros(9)}`]
  const long = [`-123456789012345${zeros(24)}`, `1${zeros(39)}`]
  for (const weight of [...weights, ...long]) {
    const { created } = (await market.post(loadPath, [anEntry({ weight })])).body
    t.equal(created.length, 1, weight)
  }
  const { results } = (await market.get(listPath)).body
  t.strictSame(
    results.map(({ weight }: { weight: string }) => weight),
    ['1.5', ...weights.slice(1, 4), '-9.75', ...long],
  )
  for (const type of ['text/csv', 'application/x-ndjson']) {
    const { body: file } = await market.send('GET', listPath, undefined, { accept: type })
    const answer = await market.send('POST', loadPath, file, { 'content-type': type })
    t.match(answer, { status: 201, body: { created: 0, updated: 7 } }, type)
  }
})

t.test('is empty before a schema is made', async (t) => {
  const account = await service.newAccount(t)
  t.strictSame((await account.get(listPath)).body, { count: 0, results: [] })
})

t.test('narrows by competitor_name and code, exactly', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['code'] })
  await market.post(loadPath, [
    anEntry({ code: 'A', competitor_name: 'Rival' }),
    anEntry({ code: 'A', competitor_name: 'rival' }),
    anEntry({ code: 'B', competitor_name: 'Rival' }),
    anEntry({ code: '5', competitor_name: 'R&D/ =%' }),
  ])
  const counts: [query: string, count: number][] = [
    ['', 4],
    ['?code=A', 2],
    ['?competitor_name=Rival', 2],
    ['?competitor_name=Rival&code=A', 1],
    ['?code=5', 1],
    [`?competitor_name=${encodeURIComponent('R&D/ =%')}`, 1],
    ['?code=a', 0],
    ['?competitor_name=Nobody', 0],
  ]
  for (const [query, count] of counts) {
    const { body } = await market.get(`${listPath}${query}`)
    t.equal(body.count, count, query)
    t.equal(body.results.length, count, query)
  }
})

t.test('finds a code wherever the schema has it', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['size', 'code'] })
  await market.post(loadPath, [anEntry({ size: '1', code: '2' })])
  t.equal((await market.get(`${listPath}?code=2`)).body.count, 1)
  t.equal((await market.get(`${listPath}?code=1`)).body.count, 0)
})

t.test('finds no code where the schema has none', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['brand'] })
  await market.post(loadPath, [{ brand: 'A', competitor_name: 'R', competitor_price: 1 }])
  t.equal((await market.get(`${listPath}?code=A`)).body.count, 0)
})

t.test('pages through all entries once, in the order of their ids', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['code'] })
  const codes = Array.from({ length: 30 }, (_, index) => `P${index}`)
  await market.post(
    loadPath,
    codes.map((code) => anEntry({ code })),
  )
  const first = (await market.get(listPath)).body
  const second = (await market.get(`${listPath}?offset=25&limit=1000`)).body
  t.strictSame([first.count, first.results.length, second.results.length], [30, 25, 5])
  const ids = [...first.results, ...second.results].map((row) => row.id)
  t.strictSame(
    ids,
    ids.toSorted((a, b) => a - b),
  )
  t.equal(new Set(ids).size, 30)
  t.strictSame((await market.get(`${listPath}?offset=30`)).body, { count: 30, results: [] })
})

t.test('bad parameters are refused', async (t) => {
  const account = await service.newAccount(t)
  const bad = [
    'limit=0',
    'limit=1001',
    'limit=x',
    'offset=-1',
    'code=',
    'competitor_name=',
    `code=${'x'.repeat(256)}`,
  ]
  for (const query of bad) {
    const { status, body } = await account.get(`${listPath}?${query}`)
    t.equal(status, 400, query)
    t.equal(body.type, 'invalid-request', query)
  }
})
