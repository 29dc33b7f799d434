import t from 'tap'
import { query } from '../helpers/database.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aFilledList, aList, aShop, rowsOf, setPrices } from '../helpers/shop.ts'

const service = await sharedService()
const codes = ['A', 'B', 'C']
const keys = codes.map((code) => ({ code, country: 'UK' }))

/** A list with a price and an attribute in each row, and how its rows are read as a file. */
async function anExportedList(
  t: Parameters<typeof aShop>[0],
  days: { date?: string }[],
  is_calendar: boolean,
) {
  const { shop, id } = await aFilledList(t, service, { codes, is_calendar })
  const prices = days.flatMap((day, at) => keys.map((key) => ({ ...key, ...day, price: at + 1 })))
  await setPrices(shop, 'L', prices)
  const attribute = { dynamic_attribute_name: 'a', dynamic_attribute_value: 1 }
  const payload = keys.map((key) => ({ ...key, ...attribute }))
  await shop.post('/api/v1/prices/bulk_update_dynamic_attributes/', {
    price_list_name: 'L',
    payload,
  })
  const lines = async (search: string): Promise<Record<string, unknown>[]> => {
    const path = `/api/v1/price_list/${id}/rows${search}`
    const { body } = await shop.send('GET', path, undefined, { accept: 'application/x-ndjson' })
    return body.split('\n').filter(Boolean).map(JSON.parse)
  }
  const codesOf = async (search: string) => [
    ...new Set((await lines(search)).map(({ code }) => code)),
  ]
  return { id, lines, codesOf }
}

/** As jobs leave it: B is removed and that is not published yet, C is removed and not tidied away. */
async function removeRows(id: number): Promise<void> {
  const remove = (code: string, version: string) =>
    query(
      service.url,
      `update price_list_rows set removed_version = (select ${version} from price_lists where id = ${id})
       where price_list_id = ${id} and code = '${code}'`,
    )
  await remove('B', 'version + 1')
  await remove('C', 'version')
}

for (const is_calendar of [false, true]) {
  const name = is_calendar ? 'a calendar list' : 'a list'
  t.test(`a file of ${name} has the rows of the version that is asked for`, async (t) => {
    const days = is_calendar ? [{ date: '2026-01-01' }] : [{}]
    const { id, lines, codesOf } = await anExportedList(t, days, is_calendar)
    await removeRows(id)
    t.strictSame(await codesOf(''), ['A', 'B'])
    t.strictSame(await codesOf('?lines=dynamic_attributes'), ['A', 'B'])
    t.strictSame(await codesOf('?version=draft'), ['A'])
    t.notOk('price' in ((await lines('?version=draft'))[0] ?? {}))
  })
}

t.test('a file of one day of a calendar list has the prices of that day', async (t) => {
  const days = [{ date: '2026-01-01' }, { date: '2026-02-01' }]
  const { lines } = await anExportedList(t, days, true)
  const prices = (await lines('?date=2026-02-01')).map(({ date, price }) => [date, price])
  t.strictSame(prices, Array(3).fill(['2026-02-01', 2]))
})

t.test('a file of a calendar list names the dimension of each price', async (t) => {
  const price_dimensions = ['retail', 'trade']
  const { shop, id } = await aFilledList(t, service, { is_calendar: true, price_dimensions })
  const prices = [
    { price_dimension: 'retail', date: '2026-01-31', price: 1 },
    { price_dimension: 'trade', date: '2026-01-31', price: 2 },
    { price_dimension: 'trade', date: '2026-02-01', price: 3 },
  ]
  const payload = prices.map((price) => ({ ...keys[0], ...price }))
  await setPrices(shop, 'L', payload)
  const path = `/api/v1/price_list/${id}/rows`
  const { body } = await shop.send('GET', path, undefined, { accept: 'application/x-ndjson' })
  const lines = body.trimEnd().split('\n').map(JSON.parse)
  t.match(lines, payload)
  t.equal(lines.length, payload.length)
})

t.test('a file of a day that the list does not have is refused', async (t) => {
  const key = { code: 'A', country: 'UK' }
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const plain = await aList(shop, { name: 'p' })
  const calendar = await aList(shop, { name: 'c', is_calendar: true })
  for (const { name } of [plain, calendar]) await addProducts(shop, name, [key])
  await setPrices(shop, 'p', [{ ...key, price: 5 }])
  const lists: [{ id: number }, string, string][] = [
    [plain, '2026-01-01', 'not_allowed'],
    [calendar, '2025-12-31', 'date_outside_calendar'],
    [calendar, '2027-01-01', 'date_outside_calendar'],
  ]
  for (const [{ id }, date, code] of lists) {
    const path = `/api/v1/price_list/${id}/rows?date=${date}`
    const accept = { accept: 'application/x-ndjson' }
    const { status, body } = await shop.send('GET', path, undefined, accept)
    t.match(
      { status, body },
      {
        status: 400,
        body: { errors: [{ pointer: '/query/date', code }] },
      },
      date,
    )
  }
})

t.test('the lines of a file name their row and product like the rows of a page', async (t) => {
  const codes = ['A', 'B', 'C']
  const shop = await aShop(t, service, { codes, countries: ['UK'] })
  const list = await aList(shop, { name: 'L' })
  // Not in the order of the products: the two ids of a row are not the same in all.
  const keys = ['C', 'A', 'B'].map((code) => ({ code, country: 'UK' }))
  for (const key of keys) await addProducts(shop, 'L', [key])
  await setPrices(
    shop,
    'L',
    keys.map((key) => ({ ...key, price: 1 })),
  )
  const attribute = { dynamic_attribute_name: 'a', dynamic_attribute_value: 1 }
  await shop.post('/api/v1/prices/bulk_update_dynamic_attributes/', {
    price_list_name: 'L',
    payload: keys.map((key) => ({ ...key, ...attribute })),
  })
  const idsOf = (row: Record<string, unknown>) => [row.pk, row.extended_catalog_id, row.code]
  const expected = (await rowsOf(shop, list)).map(idsOf)
  for (const query of ['', '?version=draft', '?lines=dynamic_attributes']) {
    const path = `/api/v1/price_list/${list.id}/rows${query}`
    const accept = { accept: 'application/x-ndjson' }
    const { body } = await shop.send('GET', path, undefined, accept)
    t.strictSame(body.trimEnd().split('\n').map(JSON.parse).map(idsOf), expected, query)
  }
})

for (const is_calendar of [false, true])
  t.test(
    `a file of ${is_calendar ? 'a calendar list' : 'a list'} says which prices were set`,
    async (t) => {
      const { shop, list } = await aFilledList(t, service, { codes, is_calendar })
      const day = is_calendar ? { date: '2026-03-01' } : {}
      const set = (code: string, price: number) =>
        setPrices(shop, 'L', [{ code, country: 'UK', ...day, price }])
      await set('A', 0)
      await set('B', 2)
      const linesOf = async (query: string, accept: string): Promise<string[]> => {
        const path = `/api/v1/price_list/${list.id}/rows?${query}`
        return (await shop.send('GET', path, undefined, { accept })).body.trimEnd().split(/\r?\n/)
      }
      const shown = async (query: string) =>
        (await linesOf(query, 'application/x-ndjson'))
          .map((line) => JSON.parse(line))
          .map(({ code, price, priced, date }) => [code, price, priced, date])
      const priced = [
        ['A', 0, true, day.date],
        ['B', 2, true, day.date],
      ]
      const first = is_calendar ? '2026-01-01' : undefined
      t.strictSame(await shown(''), [...priced, ['C', 0, false, first]])
      t.strictSame(await shown('as_of=2'), [
        priced[0],
        ['B', 0, false, first],
        ['C', 0, false, first],
      ])
      t.strictSame(
        await shown('priced=false'),
        is_calendar ? await shown('') : [['C', 0, false, first]],
      )
      if (is_calendar) {
        const date = '2026-03-01'
        t.strictSame(await shown(`date=${date}`), [...priced, ['C', 0, false, date]])
      }
      const [header = '', ...lines] = await linesOf('', 'text/csv')
      const place = header.split(',').indexOf('priced')
      t.strictSame(
        lines.map((line) => line.split(',')[place]),
        ['true', 'true', 'false'],
      )
      for (const query of ['version=draft', 'lines=dynamic_attributes'])
        t.notMatch((await linesOf(query, 'text/csv'))[0], /priced/)
    },
  )
