import t from 'tap'
import { dayAfter, today } from '../../src/price-lists/calendar.ts'
import { expectAbsentLists } from '../helpers/absent-list.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aFilledList, aList, aShop } from '../helpers/shop.ts'

const service = await sharedService()

/** A day so many days from today (UTC). */
const inDays = (days: number) => dayAfter(today(), days)

t.test('shows the settings of a list, and leaves out a description that it has not', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const { id } = await aList(shop, {
    name: 'L',
    price_dimensions: ['x', 'y'],
    valid_to: '9999-12-31',
  })
  const expected = {
    id,
    name: 'L',
    valid_from: '2026-01-01',
    valid_to: '9999-12-31',
    price_dimensions: ['x', 'y'],
    margin_formula: '= (Price - (D + E)) / Price * 100',
    product_filters: {},
    is_calendar: false,
    decimals: 6,
    hide_unpriced: false,
    guardrails: {},
    origin: 'api',
    state: 'current',
    is_published: false,
    revision: 0,
  }
  for (const path of [`/api/v1/price_list/${id}`, `/api/v1/price_list/${id}/`]) {
    const { status, body } = await shop.get(path)
    t.strictSame([status, body], [200, expected])
  }
})

t.test('a publication shows, and when it was', async (t) => {
  const before = Date.now()
  const { shop, id } = await aFilledList(t, service)
  const { is_published, published_at } = (await shop.get(`/api/v1/price_list/${id}`)).body
  t.equal(is_published, true)
  t.ok(Date.parse(published_at) >= before - 1 && Date.parse(published_at) <= Date.now() + 1)
})

t.test('a foreign list is an absent one', async (t) => {
  await expectAbsentLists(t, service, (account, id) => account.get(`/api/v1/price_list/${id}`))
})

t.test('published_at is the time of the last publication', async (t) => {
  const shop = await aShop(t, service, { codes: ['A', 'B'], countries: ['UK'] })
  const { id } = await aList(shop, { name: 'L' })
  const publishedAt = async () =>
    Date.parse((await shop.get(`/api/v1/price_list/${id}`)).body.published_at)
  await addProducts(shop, 'L', [{ code: 'A', country: 'UK' }])
  const first = await publishedAt()
  await addProducts(shop, 'L', [{ code: 'B', country: 'UK' }])
  t.ok((await publishedAt()) > first)
})

t.test('the state of a list is that of today, in every read', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const states: [from: number, to: number, state: string][] = [
    [0, 0, 'current'],
    [-1, 0, 'current'],
    [0, 1, 'current'],
    [1, 1, 'future'],
    [-1, -1, 'expired'],
    [-800, -400, 'expired'],
    [400, 800, 'future'],
  ]
  for (const [from, to, state] of states) {
    const name = `${from} to ${to}`
    const valid = { valid_from: inDays(from), valid_to: inDays(to) }
    const { id } = await aList(shop, { name, ...valid })
    const path = `/api/v1/price_list/${id}`
    const one = await shop.get(path)
    const [inPage] = (await shop.get(`/api/v1/price_list/?name=${name}`)).body.results
    const patched = await shop.send('PATCH', path, { description: 'x' })
    for (const list of [one.body, inPage, patched.body]) t.equal(list.state, state, name)
  }
})

t.test('the state follows valid_to, and is no part of the ETag', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const list = { name: 'L', valid_from: inDays(-9), valid_to: inDays(-1) }
  const path = `/api/v1/price_list/${(await aList(shop, list)).id}`
  const before = await shop.get(path)
  t.equal((await shop.send('PATCH', path, { valid_to: inDays(0) })).body.state, 'current')
  const after = await shop.send('PATCH', path, { valid_to: list.valid_to })
  t.strictSame([after.body.state, after.headers.etag], ['expired', before.headers.etag])
})

t.test('a calendar list shows its last day with prices, whatever valid_to says', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const ends: [valid_from: string, valid_to: string, last_date: string][] = [
    ['2026-01-01', '2026-12-31', '2026-12-31'],
    ['2024-02-29', '2024-03-01', '2025-02-27'],
    ['2024-01-01', '2030-01-01', '2024-12-30'],
    ['9999-12-31', '9999-12-31', '9999-12-31'],
  ]
  for (const [valid_from, valid_to, last_date] of ends) {
    const name = `${valid_from} ${valid_to}`
    const { id } = await aList(shop, { name, valid_from, valid_to, is_calendar: true })
    t.equal((await shop.get(`/api/v1/price_list/${id}`)).body.last_date, last_date)
  }
})
