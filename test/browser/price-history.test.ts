import t, { type Test } from 'tap'
import { openPage, startPages } from '../helpers/browser.ts'
import { query } from '../helpers/database.ts'
import { addProducts, aFilledList, aList, aShopOf, setPrices } from '../helpers/shop.ts'

const { service, url, browser } = await startPages(t)
const uk = { code: 'A', country: 'UK' }

/** A product in a list, priced at these prices one after another; `chart` is the text of its chart. */
async function aPricedRow(t: Test, prices: number[], settings: object = {}) {
  const { shop, list } = await aFilledList(t, service, { ...settings })
  for (const price of prices) await setPrices(shop, 'L', [{ ...uk, price }])
  const undo = (revision: number) =>
    shop.post(`/api/v1/price_list/${list.id}/revert/`, { revision })
  const chart = async () => {
    const page = await openPage(t, browser, { url, token: shop.token, path: '/#/prices?code=A' })
    const figure = page.locator('.steps')
    await figure.waitFor()
    const image = await figure.getByRole('img').getAttribute('aria-label')
    const line = await figure.locator('.step').getAttribute('d')
    const bands = await figure.locator('.band').all()
    const band = Number(await bands[0]?.getAttribute('width'))
    return { image, line, band, text: await figure.innerText() }
  }
  return { shop, undo, chart }
}

t.test('a first price that was taken back leaves no price, not 0', async (t) => {
  const { undo, chart } = await aPricedRow(t, [5])
  await undo(2)
  const { image, text } = await chart()
  t.match(image, /^UK: 5\.00 since/)
  t.match(text, /^UK\s+no price[\s\S]*\n1 price$/)
})

t.test('a row that was added again has no price in between', async (t) => {
  const { shop, chart } = await aPricedRow(t, [5])
  const body = { price_list_name: 'L', payload: [uk] }
  await shop.post('/api/v1/prices/bulk_remove_products/', body)
  await addProducts(shop, 'L', [uk])
  await setPrices(shop, 'L', [{ ...uk, price: 7 }])
  const { image, line, text } = await chart()
  t.match(image, /^UK: 5\.00 to 7\.00 since/)
  t.equal(line?.match(/M/g)?.length, 2, 'a line for each stay')
  t.match(text, /2 prices$/)
})

t.test('a 0 that was set is a price, also when a revert brings it back', async (t) => {
  const { undo, chart } = await aPricedRow(t, [0, 5])
  await undo(3)
  const { image, text } = await chart()
  t.match(image, /^UK: 0\.00 to 5\.00 since/)
  t.match(text, /^UK\s+0\.00[\s\S]*3 prices$/)
})

t.test('the promotion in force is drawn since it was made, or since it changed', async (t) => {
  const { shop, chart } = await aPricedRow(t, [5])
  const year = { valid_from: '2020-01-01', valid_to: '2099-12-31' }
  const half = { name: 'Half', kind: 'percentage', value: 50, ...year }
  const elsewhere = { ...half, name: 'Other', value: 90, price_lists: ['Winter'] }
  await aList(shop, { name: 'Winter' })
  await shop.post('/api/v1/promotions/bulk_create_or_update/', [half, elsewhere])
  const weeks = (count: number) => `now() - interval '${count} weeks'`
  await query(
    service.url,
    `update list_revisions set at = ${weeks(4)} where account_id = ${shop.id};
     update promotions set valid_from = (${weeks(2)})::date where account_id = ${shop.id} and name = 'Half'`,
  )
  const made = await chart()
  t.match(made.text, /with the promotion Half/)
  t.notMatch(made.text, 'Other')
  t.ok((made.band ?? 0) < 25, 'it was made today')
  await query(
    service.url,
    `update promotions set changed_at = ${weeks(3)} where account_id = ${shop.id}`,
  )
  const known = await chart()
  t.ok(Math.abs((known.band ?? 0) - 300) < 25, 'it has been in force for half of the time')
})

t.test('without extensions, a chart is named by its price column', async (t) => {
  const shop = await aShopOf(t, service, {}, [{ code: 'A' }])
  await aList(shop, { name: 'L' })
  await addProducts(shop, 'L', [{ code: 'A' }])
  await setPrices(shop, 'L', [{ code: 'A', price: 2 }])
  const page = await openPage(t, browser, { url, token: shop.token, path: '/#/prices?code=A' })
  await page.getByRole('img', { name: /^price: 2\.00 since/ }).waitFor()
  t.match(await page.locator('.steps figcaption').innerText(), /^price/)
})
