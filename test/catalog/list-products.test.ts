import t from 'tap'
import { catalogPath, productsPath, smallSchema } from '../helpers/catalog.ts'
import { hostileTexts } from '../helpers/hostile.ts'
import { expectPaging } from '../helpers/paging.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aShopOf } from '../helpers/shop.ts'

const service = await sharedService()

t.test('shows columns beside code and leaves out what is absent', async (t) => {
  const full = { code: 'A', country: 'UK', color: 'red', purchase: 1.25, active: false }
  const bare = { code: 'B', country: 'UK' }
  const account = await aShopOf(t, service, smallSchema)
  const { created } = (await account.post(productsPath, [full, bare])).body
  const { status, body } = await account.get(catalogPath)
  t.equal(status, 200)
  t.strictSame(body, {
    count: 2,
    results: [
      { extended_catalog_id: created[0], ...full },
      { extended_catalog_id: created[1], ...bare, active: true },
    ],
  })
})

t.test('an empty catalog has no results', async (t) => {
  const account = await service.newAccount(t)
  t.strictSame((await account.get(catalogPath)).body, { count: 0, results: [] })
})

t.test('pages in the order of ids', async (t) => {
  const rows = Array.from({ length: 30 }, (_, index) => ({ code: `P${30 - index}`, country: 'UK' }))
  const account = await aShopOf(t, service, smallSchema, rows)
  await expectPaging(t, account, catalogPath, 'extended_catalog_id')
})

t.test('code picks the rows of one product, compared code point by code point', async (t) => {
  const rows = hostileTexts.flatMap((code) => [
    { code, country: 'UK' },
    { code, country: 'FR' },
  ])
  const account = await aShopOf(t, service, smallSchema, rows)
  for (const code of hostileTexts) {
    const { body } = await account.get(`${catalogPath}?code=${encodeURIComponent(code)}&limit=1`)
    t.strictSame([body.count, body.results[0].code], [2, code])
  }
  t.strictSame((await account.get(`${catalogPath}?code=absent`)).body, { count: 0, results: [] })
})

t.test('a code that no product can have is refused', async (t) => {
  const account = await service.newAccount(t)
  for (const code of ['', 'x'.repeat(256), '%00', 'a%00b', '%ff', '%ed%a0%80']) {
    const { status, body } = await account.get(`${catalogPath}?code=${code}`)
    t.strictSame([status, body.type], [400, 'invalid-request'], code)
    t.equal(body.errors[0].pointer, '/query/code', code)
  }
})

t.test('code_prefix picks the products whose code begins with it, as it is written', async (t) => {
  const codes = ['8', '85', '85a', '85A', '850%', '85\u{10ffff}', '850_', '9', 'é', 'e\u0301']
  const rows = codes.map((code) => ({ code, country: 'UK' }))
  const account = await aShopOf(t, service, smallSchema, rows)
  const found = async (prefix: string) => {
    const query = `code_prefix=${encodeURIComponent(prefix)}&limit=1000`
    const { status, body } = await account.get(`${catalogPath}?${query}`)
    t.strictSame([status, body.count], [200, body.results.length], prefix)
    return body.results.map(({ code }: { code: string }) => code).sort()
  }
  for (const prefix of [...codes, '850', '%', '_', 'x'.repeat(255)]) {
    t.strictSame(await found(prefix), codes.filter((code) => code.startsWith(prefix)).sort())
  }
  const both = await account.get(`${catalogPath}?code_prefix=8&code=85a`)
  t.strictSame(both.body.count, 1, 'together with code')
  for (const prefix of ['', 'x'.repeat(256), '%00']) {
    const { status, body } = await account.get(`${catalogPath}?code_prefix=${prefix}`)
    t.strictSame([status, body.errors[0].pointer], [400, '/query/code_prefix'], prefix)
  }
})

t.test('an account sees its own products only', async (t) => {
  await aShopOf(t, service, smallSchema, [{ code: 'A', country: 'UK' }])
  const other = await aShopOf(t, service, smallSchema)
  t.strictSame((await other.get(`${catalogPath}?code=A`)).body, { count: 0, results: [] })
})
