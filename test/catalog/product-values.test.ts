import t from 'tap'
import { products, productsPath, smallSchema, typedColumns } from '../helpers/catalog.ts'
import { astral, hostileTexts } from '../helpers/hostile.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aShopOf } from '../helpers/shop.ts'

const service = await sharedService()

t.test(
  'values of every type are read as they were written, and equal values are one key',
  async (t) => {
    const account = await aShopOf(t, service, {
      attributes: typedColumns('a'),
      extensions: typedColumns('e'),
    })
    const values: [string, unknown[]][] = [
      ['string', ['0', 'true', 'null', ' ']],
      ['integer', [0, -7, 9007199254740991]],
      ['number', [0.1, -0.000001, 123456789012345, 1e20, 99999999.999999]],
      ['boolean', [true, false]],
      ['date', ['0001-01-01', '2024-02-29', '9999-12-31']],
    ]
    const base = { estring: 'x', einteger: 1, enumber: 1.5, eboolean: false, edate: '2026-01-01' }
    const rows = values.flatMap(([type, list]) =>
      list.map((value) => ({
        code: `${type} ${value}`,
        ...base,
        [`e${type}`]: value,
        [`a${type}`]: value,
      })),
    )
    const { body } = await account.post(productsPath, rows)
    t.equal(body.created.length, rows.length)
    const read = new Map(
      (await products(account)).map((row) => [(row as { code: string }).code, row]),
    )
    for (const row of rows) t.strictSame(read.get(row.code), { ...row, active: true })
    const again = await account.post(productsPath, rows.reverse())
    t.strictSame(again.body, { created: [], updated: body.created.reverse() })
  },
)

t.test('numbers that are written in several ways are one value', async (t) => {
  const account = await aShopOf(t, service, { extensions: [{ name: 'e', type: 'number' }] })
  const rows = ['1', '1.0', '1e0', '10e-1'].map((e) => `{"code":"A","e":${e}}`)
  const zeros = ['0', '-0', '0.0'].map((e) => `{"code":"B","e":${e}}`)
  const { body } = await account.post(productsPath, `[${[...rows, ...zeros]}]`)
  t.equal(body.created.length, 2)
})

t.test('hostile codes and values are texts: kept as sent and told apart', async (t) => {
  const account = await aShopOf(t, service, smallSchema)
  const rows = hostileTexts.flatMap((code) => [
    { code, country: code, color: code },
    { code, country: 'UK', color: code },
  ])
  const { status, body } = await account.post(productsPath, rows)
  t.equal(status, 200)
  t.equal(body.created.length, rows.length)
  const read = new Set((await products(account)).map((row) => JSON.stringify(row)))
  for (const { code, country, color } of rows) {
    t.ok(read.has(JSON.stringify({ code, country, color, active: true })), JSON.stringify(code))
  }
  t.equal((await account.post(productsPath, rows)).body.updated.length, rows.length)
})

t.test('255 characters are taken, also of four bytes each', async (t) => {
  const account = await aShopOf(t, service, smallSchema)
  const row = { code: astral(255), country: astral(255), color: astral(255), active: true }
  t.equal((await account.post(productsPath, [row])).status, 200)
  t.strictSame(await products(account), [row])
})

t.test('costs are exact decimals', async (t) => {
  const account = await aShopOf(t, service, smallSchema)
  const costs = [0, 0.000001, 19.99, 0.1, 1.005, 123456789.123456, 999999999999999]
  const rows = costs.map((purchase, index) => ({ code: `P${index}`, country: 'UK', purchase }))
  t.equal((await account.post(productsPath, rows)).status, 200)
  t.strictSame(
    await products(account),
    rows.map((row) => ({ ...row, active: true })),
  )
})
