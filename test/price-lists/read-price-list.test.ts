import t from 'tap'
import { expectAbsentLists } from '../helpers/absent-list.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aList, aShop } from '../helpers/shop.ts'

const service = await sharedService()

t.test('shows the settings of a list, and leaves out a description that it has not', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const { id } = await aList(shop, { name: 'L', price_dimensions: ['x', 'y'] })
  const expected = {
    id,
    name: 'L',
    valid_from: '2026-01-01',
    valid_to: '2026-12-31',
    price_dimensions: ['x', 'y'],
    margin_formula: '= (Price - (D + E)) / Price * 100',
    product_filters: {},
    is_calendar: false,
    hide_unpriced: false,
    guardrails: {},
    origin: 'api',
    is_published: false,
    revision: 0,
  }
  for (const path of [`/api/v1/price_list/${id}`, `/api/v1/price_list/${id}/`]) {
    const { status, body } = await shop.get(path)
    t.strictSame([status, body], [200, expected])
  }
})

t.test('a publication shows, and when it was', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const { id } = await aList(shop, { name: 'L' })
  const before = Date.now()
  await addProducts(shop, 'L', [{ code: 'A', country: 'UK' }])
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
