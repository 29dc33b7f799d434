import t, { type Test } from 'tap'
import { openPage, startPages } from '../helpers/browser.ts'
import type { TestAccount } from '../helpers/service.ts'
import { addProducts, aList, aShopOf, setPrices } from '../helpers/shop.ts'

const { service, url, browser } = await startPages(t)

/** A shop with one product in a list and this many competitor prices; the last is the cheapest. */
async function aShopWithCompetitors(t: Test, count: number): Promise<TestAccount> {
  const shop = await aShopOf(t, service, {}, [{ code: 'A1' }])
  await aList(shop, { name: 'Retail' })
  await addProducts(shop, 'Retail', [{ code: 'A1' }])
  const path = '/api/v1/competitor_prices'
  await shop.post(`${path}/schema/create_schema/`, { attributes_config: ['code'] })
  const entries = Array.from({ length: count }, (_, index) => ({
    code: 'A1',
    competitor_name: `Shop ${index + 1}`,
    competitor_price: count - index,
  }))
  for (const part of [entries.slice(0, -1), entries.slice(-1)])
    await shop.post(`${path}/bulk_create_or_update/`, part)
  return shop
}

t.test('the cheapest competitor is first, however many there are', async (t) => {
  const { token } = await aShopWithCompetitors(t, 1001)
  const page = await openPage(t, browser, { url, token, path: '/#/prices?code=A1' })
  const shown = page.locator('.cards li')
  await shown.first().waitFor()
  t.match(await shown.first().innerText(), /^Shop 1001 1\.00/)
  t.equal(await shown.count(), 1001)
  t.equal(await page.getByText('competitor prices are compared').count(), 0)
})

t.test(
  'a competitor price of over 30 days comes last, with its age, and is not compared',
  async (t) => {
    const shop = await aShopWithCompetitors(t, 2)
    const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()
    const entry = { code: 'A1', competitor_price: 0.5 }
    await shop.post('/api/v1/competitor_prices/bulk_create_or_update/', [
      { ...entry, competitor_name: 'Old', latest_update: daysAgo(32) },
      { ...entry, competitor_name: 'Recent', latest_update: daysAgo(29) },
    ])
    await setPrices(shop, 'Retail', [{ code: 'A1', price: 1 }])
    const page = await openPage(t, browser, { url, token: shop.token, path: '/#/prices?code=A1' })
    const shown = page.locator('.cards li')
    await shown.first().waitFor()
    const texts = await shown.allTextContents()
    t.match(texts[0], /^Recent 0\.50 \+100%$/)
    t.match(texts.at(-1), /^Old 0\.50 \d+ \w+ ago$/)
    const body = { price_list_name: 'Retail', include: ['competition'], payload: [{ code: 'A1' }] }
    const [row] = (await shop.post('/api/v1/prices/get_prices/', body)).body
    t.equal(row.competition.count, 3, 'as the service counts')
  },
)

t.test('only competitor prices with the attributes of the product are compared', async (t) => {
  const schema = { attributes: [{ name: 'brand', type: 'string' }] }
  const product = { code: 'A1', brand: 'Own' }
  const shop = await aShopOf(t, service, schema, [product, { code: 'A2' }])
  await aList(shop, { name: 'Retail' })
  await addProducts(shop, 'Retail', [{ code: 'A1' }, { code: 'A2' }])
  const path = '/api/v1/competitor_prices'
  await shop.post(`${path}/schema/create_schema/`, { attributes_config: ['code', 'brand'] })
  await shop.post(`${path}/bulk_create_or_update/`, [
    { ...product, competitor_name: 'Same', competitor_price: 2 },
    { code: 'A1', brand: 'Other', competitor_name: 'Another', competitor_price: 1 },
    { code: 'A2', brand: 'Own', competitor_name: 'Unbranded', competitor_price: 1 },
  ])
  const { token } = shop
  for (const [code, shown] of [
    ['A1', /^Same 2\.00$/],
    ['A2', /^–$/],
  ] as const) {
    const page = await openPage(t, browser, { url, token, path: `/#/prices?code=${code}` })
    const cell = page.getByRole('cell').last()
    await cell.waitFor()
    t.match((await cell.innerText()).trim(), shown, code)
    const body = { price_list_name: 'Retail', include: ['competition'], payload: [{ code }] }
    const [row] = (await shop.post('/api/v1/prices/get_prices/', body)).body
    t.equal(row.competition?.count, code === 'A1' ? 1 : undefined, 'as the service counts')
  }
})

t.test(
  'in a dated schema, only competitor prices of the day of the row are compared',
  async (t) => {
    const shop = await aShopOf(t, service, {}, [{ code: 'A1' }])
    await aList(shop, { name: 'Rental', is_calendar: true })
    await aList(shop, { name: 'Retail' })
    for (const list of ['Rental', 'Retail']) await addProducts(shop, list, [{ code: 'A1' }])
    const path = '/api/v1/competitor_prices'
    await shop.post(`${path}/schema/create_schema/`, {
      attributes_config: ['code'],
      is_dated: true,
    })
    const entry = (competitor_name: string, competitor_price: number, departure_date?: string) => ({
      ...{ code: 'A1', competitor_name, competitor_price },
      ...(departure_date && { departure_date }),
    })
    await shop.post(`${path}/bulk_create_or_update/`, [
      entry('Summer', 200, '2026-07-14'),
      entry('Winter', 50, '2026-12-01'),
      entry('Always', 70),
    ])
    for (const [name, date, shown] of [
      ['Rental', '2026-07-14', 'Summer 200.00'],
      ['Retail', undefined, 'Always 70.00'],
    ] as const) {
      const day = date ? `&date=${date}` : ''
      const path = `/#/prices?code=A1&list=${name}${day}`
      const page = await openPage(t, browser, { url, token: shop.token, path })
      await page.getByText(shown).waitFor()
      t.strictSame(await page.locator('.cards li').allInnerTexts(), [shown])
      const payload = [{ code: 'A1', ...(date && { date }) }]
      const body = { price_list_name: name, include: ['competition'], payload }
      const [row] = (await shop.post('/api/v1/prices/get_prices/', body)).body
      t.equal(row.competition.count, 1, 'as the service counts')
    }
  },
)

t.test('competitor prices that are too many to be compared are counted', async (t) => {
  const { token } = await aShopWithCompetitors(t, 10_001)
  const page = await openPage(t, browser, { url, token, path: '/#/prices?code=A1' })
  await page.getByText('The first 10,000 of 10,001 competitor prices are compared').waitFor()
})
