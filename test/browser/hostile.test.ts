import t from 'tap'
import { expectFits, openPage, startPages } from '../helpers/browser.ts'
import { addProducts, aList, aShopOf, setPrices } from '../helpers/shop.ts'

const { service, url, browser } = await startPages(t)

const names = {
  markup: '<script>document.title="bad"</script><img src=x onerror=alert(1)>',
  long: 'W'.repeat(255),
  arabic: 'قائمة الأسعار ١',
  override: '\u202Egnp.ecirp\u202C',
  address: '../?a=b&c=d#/jobs%2F "q"',
}

for (const [kind, name] of Object.entries(names)) {
  t.test(`a name is shown as it is: ${kind}`, async (t) => {
    const columns = {
      attributes: [{ name: `${name}`.slice(0, 250), type: 'string' }],
      extensions: [{ name: `x${name}`.slice(0, 255), type: 'string' }],
    }
    const [attribute, extension] = [
      columns.attributes[0]?.name ?? '',
      columns.extensions[0]?.name ?? '',
    ]
    const product = { code: name, [extension]: name }
    const shop = await aShopOf(t, service, columns, [{ ...product, [attribute]: name }])
    const list = await aList(shop, { name, description: name, price_dimensions: [name] })
    await addProducts(shop, name, [product])
    await setPrices(shop, name, [{ ...product, price: 2 }])
    const look = { url, token: shop.token, viewport: { width: 360, height: 740 } }
    const page = await openPage(t, browser, look)
    page.on('dialog', (dialog) => t.fail(`a dialog: ${dialog.message()}`))
    await page.getByRole('link', { name, exact: true }).waitFor()
    await expectFits(t, page, 'lists')
    await page.getByRole('link', { name, exact: true }).click()
    const rows = page.locator('.panel', { has: page.getByRole('searchbox') })
    await rows.locator('tbody tr').waitFor()
    t.equal(await page.locator('h1 .name').textContent(), name)
    t.match(page.url(), new RegExp(`#/lists/${list.id}$`))
    await expectFits(t, page, 'list')
    await rows.locator('tbody a').click()
    await page.locator('.cards tbody tr').waitFor()
    t.equal(await page.getByLabel('Product code').inputValue(), name)
    t.equal(await page.locator('h2').textContent(), name)
    t.equal(await page.locator('.cards td').first().textContent(), name)
    await expectFits(t, page, 'prices')
    t.equal(await page.locator('main :is(script, img)').count(), 0, 'text, not markup')
  })
}

for (const width of [1440, 390]) {
  t.test(
    `${width} pixels: 40 price columns scroll beside the product, and the page stays`,
    async (t) => {
      const shop = await aShopOf(t, service, {}, [{ code: 'A1' }])
      const price_dimensions = Array.from({ length: 40 }, (_, index) => `price ${index}`)
      const list = await aList(shop, { name: 'Wide', price_dimensions })
      await addProducts(shop, 'Wide', [{ code: 'A1' }])
      const look = { url, token: shop.token, viewport: { width, height: 800 } }
      const page = await openPage(t, browser, { ...look, path: `/#/lists/${list.id}` })
      const link = page.getByRole('link', { name: 'A1' })
      await link.waitFor()
      await expectFits(t, page, 'list')
      const before = await link.boundingBox()
      await page.getByRole('columnheader', { name: 'price 39 margin' }).scrollIntoViewIfNeeded()
      const { x = -1 } = (await link.boundingBox()) ?? {}
      t.ok(x > 0 && Math.abs(x - (before?.x ?? 0)) < 10, `still there, at ${x}`)
    },
  )
}
