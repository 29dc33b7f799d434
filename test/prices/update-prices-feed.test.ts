import t from 'tap'
import { query } from '../helpers/database.ts'
import { expectProblem } from '../helpers/faults.ts'
import type { TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aFilledList, aList, aShop, rowsOf, setPrices } from '../helpers/shop.ts'

const path = '/api/v1/prices/bulk_update_prices/'
const service = await sharedService()
const codes = ['A', '=B', '"C"\n']
const countries = ['UK', 'FR']
const keys = codes.flatMap((code) => countries.map((country) => ({ code, country })))

const send = (shop: TestAccount, query: string, file: string, type = 'text/csv') =>
  shop.send('POST', `${path}?${query}`, file, { 'content-type': type })

t.test('prices of a file are set like those of JSON; the others stay', async (t) => {
  const settings = { name: 'list', price_dimensions: ['retail', 'wholesale'] }
  const { shop, list } = await aFilledList(t, service, { codes, countries, ...settings })
  await setPrices(shop, 'list', [{ ...keys[0], price_dimension: 'wholesale', price: 9 }])
  const file = 'country,code,price_dimension,price\nUK,A,retail,1.50\nFR,A,wholesale,2\n'
  const answer = await send(shop, 'price_list_name=list', file)
  t.match(answer, { status: 201, body: { rows: 2, created: 0, updated: 2 } })
  const prices = (await rowsOf(shop, list)).filter(({ code }) => code === 'A')
  t.match(Object.fromEntries(prices.map(({ country, prices }) => [country, prices])), {
    UK: { retail: 1.5, wholesale: 9 },
    FR: { retail: 0, wholesale: 2 },
  })
  const again = await send(shop, 'price_list_name=list', file.replace('wholesale,2', 'wholesale,3'))
  t.match(again, { status: 201, body: { rows: 2, updated: 2, unchanged: 1 } })
})

t.test('a file for another list is another request under its Idempotency-Key', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  for (const name of ['one', 'two']) {
    await aList(shop, { name })
    await addProducts(shop, name, [{ code: 'A', country: 'UK' }])
  }
  const sendTo = (name: string) =>
    shop.send('POST', `${path}?price_list_name=${name}`, 'code,country,price\nA,UK,1\n', {
      'content-type': 'text/csv',
      'idempotency-key': 'k',
    })
  t.equal((await sendTo('one')).status, 201)
  t.match(await sendTo('two'), { status: 422, body: { type: 'idempotency-key-reused' } })
  t.match(await sendTo('one'), { status: 201, headers: { 'idempotent-replayed': 'true' } })
})

t.test('what is wrong with the names of the list is said of the query', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const list = await aList(shop, { name: 'one' })
  await aList(shop, { name: 'other' })
  const cases = [
    ['', 'price_list_name', 'required'],
    [`price_list_name=other&price_list_id=${list.id}`, 'price_list_id', 'conflicting_keys'],
    ['price_list_id=0x1', 'price_list_id', 'type'],
  ]
  for (const [query = '', name, code] of cases) {
    const { status, body } = await send(shop, query, 'code,country,price\nA,UK,1\n')
    t.equal(status, 400, query)
    t.match(body.errors, [{ pointer: `/query/${name}`, code }], query)
  }
})

const lists: Record<string, Record<string, unknown>> = {
  'with dimensions': { price_dimensions: ['retail', '=x', 'a,"b"'] },
  'of days': { is_calendar: true, valid_from: '2027-12-30', valid_to: '2028-02-01' },
}
for (const [kind, overrides] of Object.entries(lists)) {
  for (const type of ['text/csv', 'application/x-ndjson']) {
    t.test(
      `a list ${kind}, exported as ${type} and loaded into another, is the same`,
      async (t) => {
        const shop = await aShop(t, service, { codes, countries })
        const from = await aList(shop, { ...overrides, name: 'from' })
        const to = await aList(shop, { ...overrides, name: 'to' })
        for (const name of ['from', 'to']) await addProducts(shop, name, keys)
        const isCalendar = kind === 'of days'
        const set = isCalendar
          ? ['2027-12-30', '2027-12-31', '2028-02-29'].map((date, index) => ({
              date,
              price: index + 0.5,
            }))
          : ['retail', '=x'].map((price_dimension) => ({
              price_dimension,
              price: 999999999.999999,
            }))
        await setPrices(
          shop,
          'from',
          set.flatMap((one) => keys.slice(1).map((key) => ({ ...key, ...one }))),
        )
        const path = `/api/v1/price_list/${from.id}/rows`
        const file = await shop.send('GET', path, undefined, { accept: type })
        const { status, body } = await send(shop, `price_list_id=${to.id}`, file.body, type)
        t.match({ status, body }, { status: 201, body: { updated: keys.length - 1 } })
        for (const date of isCalendar
          ? ['2027-12-30', '2027-12-31', '2028-02-29', '2028-01-01']
          : ['']) {
          const query = date && `date=${date}`
          t.strictSame(
            withoutIds(await rowsOf(shop, to, query)),
            withoutIds(await rowsOf(shop, from, query)),
          )
        }
      },
    )
  }
}

for (const [kind, overrides] of Object.entries(lists))
  for (const type of ['text/csv', 'application/x-ndjson'])
    t.test(`a list ${kind}, exported as ${type} and loaded again, is as it was`, async (t) => {
      const settings = { codes, countries, name: 'list', ...overrides }
      const { shop, list } = await aFilledList(t, service, settings)
      const cell = kind === 'of days' ? { date: '2028-02-29' } : { price_dimension: 'retail' }
      await setPrices(shop, 'list', [{ ...keys[1], ...cell, price: 0 }])
      const rows = `/api/v1/price_list/${list.id}/rows`
      const file = await shop.send('GET', rows, undefined, { accept: type })
      const { status, headers } = await send(shop, 'price_list_name=list', file.body, type)
      t.match({ status, headers }, { status: 201, headers: { 'price-list-revision': '2' } })
      t.equal((await shop.send('GET', rows, undefined, { accept: type })).body, file.body)
    })

t.test('lines that are not priced set nothing and are not checked', async (t) => {
  const { shop, list } = await aFilledList(t, service, { codes, countries, name: 'list' })
  const file = [
    'pk,code,country,price,priced',
    ',A,UK,1,TRUE',
    ',A,FR,2,',
    ',A,UK,3,FALSE',
    ',A,FR,4,false',
    'x,gone,UK,-1,False',
    ',,,,false',
  ]
  const answer = await send(shop, 'price_list_name=list', file.join('\n'))
  t.match(answer, { status: 201, body: { rows: 6, created: 0, updated: 2 } })
  const prices = (await rowsOf(shop, list)).filter(({ code }) => code === 'A')
  t.strictSame(prices.map(({ country, prices }) => [country, prices.price]).sort(), [
    ['FR', 2],
    ['UK', 1],
  ])
  const line = JSON.stringify({ ...keys[0], price: 9, priced: false })
  const nothing = await send(shop, 'price_list_name=list', line, 'application/x-ndjson')
  t.match(nothing, { status: 201, body: { rows: 1, updated: 0 } })
  t.equal(nothing.headers['price-list-revision'], '2')
})

t.test('priced is true or false, and no key of a JSON body', async (t) => {
  const { shop } = await aFilledList(t, service, { codes, countries, name: 'list' })
  const row = { ...keys[0], price: 1 }
  const lines: [string, string][] = [
    ['code,country,price,priced\nA,UK,1,no\n', 'text/csv'],
    [JSON.stringify({ ...row, priced: 0 }), 'application/x-ndjson'],
    [JSON.stringify({ ...row, priced: null }), 'application/x-ndjson'],
    [JSON.stringify({ ...row, priced: 'false' }), 'application/x-ndjson'],
  ]
  for (const [file, type] of lines) {
    const { status, body } = await send(shop, 'price_list_name=list', file, type)
    t.match(
      { status, body },
      { status: 400, body: { errors: [{ pointer: '/0/priced', code: 'type' }] } },
    )
  }
  const payload = [{ ...row, priced: false }]
  const { status, body } = await shop.post(path, { price_list_name: 'list', payload })
  t.match(
    { status, body },
    { status: 400, body: { errors: [{ pointer: '/payload/0/priced', code: 'unknown_key' }] } },
  )
})

t.test('a file in the background skips lines that are not priced', async (t) => {
  const { shop } = await aFilledList(t, service, { codes, countries, name: 'list' })
  const headers = { 'content-type': 'text/csv', prefer: 'respond-async' }
  const file = 'code,country,price,priced\nA,UK,1,true\nA,FR,0,false\n'
  const { body } = await shop.send('POST', `${path}?price_list_name=list`, file, headers)
  t.match((await shop.finished(body)).result, { rows: 2, updated: 1 })
})

t.test('bad rows of a file are named, and nothing is set', async (t) => {
  const { shop, list } = await aFilledList(t, service, { codes, countries, name: 'list' })
  const before = await rowsOf(shop, list)
  const cases: [string, ...[number, string, string][]][] = [
    ['country,code,price\nUK,A,1\nUK,X,1\n', [3, '/1/code', 'row_not_in_list']],
    ['country,code,price\nUK,A,1\nUK,A,2\n', [3, '/1', 'duplicate_row']],
    [
      'country,code,price\nUK,X,1\nUK,A,1\nUK,X,1\nUK,X,2\n',
      [2, '/0/code', 'row_not_in_list'],
      [4, '/2/code', 'row_not_in_list'],
      [5, '/3', 'duplicate_row'],
      [5, '/3/code', 'row_not_in_list'],
    ],
    ['country,code,price\nUK,A,-1\nUK,A,x\n', [2, '/0/price', 'range'], [3, '/1/price', 'type']],
    ['country,code,price,date\nUK,A,1,2026-01-01\n', [2, '/0/date', 'not_allowed']],
    ['country,code,price\n,A,1\n', [2, '/0/country', 'required']],
    ['code,price\nA,1\n', [1, '#/columns/country', 'required']],
    ['country,code,price,extensions\nUK,A,1,{}\n', [1, '#/columns/extensions', 'unknown_key']],
  ]
  for (const [file, ...faults] of cases) {
    const { status, body } = await send(shop, 'price_list_name=list', file)
    t.equal(status, 400, file)
    t.strictSame(
      body.errors.map(({ line, pointer, code }: Record<string, unknown>) => [line, pointer, code]),
      faults,
      file,
    )
  }
  t.strictSame(await rowsOf(shop, list), before)
})

t.test('a file without the column of the day or the dimension is refused once', async (t) => {
  const price_dimensions = ['retail', 'wholesale']
  const { shop } = await aFilledList(t, service, { is_calendar: true, price_dimensions })
  const { body } = await send(shop, 'price_list_name=L', 'code,country,price\nA,UK,1\nA,UK,2\n')
  t.match(body, {
    type: 'invalid-request',
    errors: [
      { line: 1, pointer: '#/columns/price_dimension', code: 'required' },
      { line: 1, pointer: '#/columns/date', code: 'required' },
    ],
    error_count: 2,
  })
})

t.test('each rejected row has its error, also where rows are equal', async (t) => {
  const { shop } = await aFilledList(t, service, { codes, countries, name: 'list' })
  const file = 'country,code,price\nUK,X,1\nUK,A,1\nUK,X,1\n'
  const type = { 'content-type': 'text/csv', accept: 'text/csv' }
  const { body } = await shop.send('POST', `${path}?price_list_name=list`, file, type)
  const error = 'code: the published list has no row with this code and these extensions'
  t.equal(body, `country,code,price,error\r\nUK,X,1,${error}\r\nUK,X,1,${error}\r\n`)
})

t.test('a row that was removed and is not deleted yet is not in the list', async (t) => {
  const { shop, list } = await aFilledList(t, service, { codes, countries, name: 'list' })
  const text = 'update price_list_rows set removed_version = added_version where price_list_id = '
  await query(service.url, text + list.id)
  const { status, body } = await send(shop, 'price_list_name=list', 'country,code,price\nUK,A,1\n')
  t.match({ status, body }, { status: 400, body: { errors: [{ code: 'row_not_in_list' }] } })
})

t.test('the query names the list', async (t) => {
  const shop = await aShop(t, service, { codes, countries })
  const list = await aList(shop, {})
  const file = 'country,code,price\nUK,A,1\n'
  t.match(await send(shop, '', file), {
    status: 400,
    body: { errors: [{ pointer: '/query/price_list_name', code: 'required' }] },
  })
  t.match(await send(shop, 'price_list_name=other', file), { status: 404 })
  t.match(await send(shop, `price_list_name=list&price_list_id=${list.id + 1}`, file), {
    status: 404,
  })
  t.match(await send(shop, 'price_list_name=list', file), {
    status: 409,
    body: { type: 'price-list-not-published' },
  })
})

t.test('a file for a list that was made elsewhere is 409, at once and as a job', async (t) => {
  const { shop, list } = await aFilledList(t, service, { name: 'list' })
  const before = await rowsOf(shop, list)
  await query(service.url, `update price_lists set origin = 'ui' where id = ${list.id}`)
  const columns = {
    bulk_add_products: {},
    bulk_update_prices: { price: 5 },
    bulk_update_dynamic_attributes: { dynamic_attribute_name: 'n', dynamic_attribute_value: 1 },
  }
  for (const [name, values] of Object.entries(columns)) {
    const row = { code: 'A', country: 'UK', ...values }
    for (const prefer of ['', 'respond-async']) {
      const to = `/api/v1/prices/${name}/?price_list_name=list`
      const headers = { 'content-type': 'application/x-ndjson', prefer }
      const answer = await shop.send('POST', to, `${JSON.stringify(row)}\n`, headers)
      expectProblem(t, answer, { status: 409, type: 'price-list-not-managed' })
    }
  }
  t.strictSame(await rowsOf(shop, list), before)
})

function withoutIds(rows: Record<string, unknown>[]): unknown[] {
  return rows.map(({ pk: _, ...row }) => JSON.stringify(row)).sort()
}

t.test('all rows of a file for the wrong list are counted, the first of them named', async (t) => {
  const { shop } = await aFilledList(t, service, { codes, countries, name: 'wrong' })
  const rows = Array.from({ length: 100_500 }, (_, row) => `UK,unknown ${row},1`)
  const file = ['country,code,price', 'UK,A,1', ...rows].join('\n')
  const { status, body } = await send(shop, 'price_list_name=wrong', file)
  t.match({ status, body }, { status: 400, body: { error_count: 100_500 } })
  const named = body.errors.map(({ row }: { row: number }) => row)
  t.same(
    named,
    Array.from({ length: 1000 }, (_, index) => index + 1),
  )
})
