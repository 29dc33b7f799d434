import t from 'tap'
import { smallSchema, typedColumns } from '../helpers/catalog.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aShopOf } from '../helpers/shop.ts'

const service = await sharedService()
const path = '/api/v1/product_catalog/schema/'

t.test('before any column is declared the lists are empty', async (t) => {
  const { status, body } = await (await service.newAccount(t)).get(path)
  t.equal(status, 200)
  t.strictSame(body, { attributes: [], extensions: [], costs: [] })
})

t.test('shows the type and the letter of each column, values where they are limited', async (t) => {
  const [first, ...others] = typedColumns('x ')
  const values = ['a', 'b']
  const account = await aShopOf(t, service, {
    attributes: [{ ...first, values }, ...others],
    costs: [{ name: 'purchase' }],
  })
  const { body } = await account.get('/api/v1/product_catalog/schema')
  t.strictSame(body, {
    attributes: [
      { name: 'x string', type: 'string', values, letter: 'B' },
      { name: 'x integer', type: 'integer', letter: 'C' },
      { name: 'x number', type: 'number', letter: 'D' },
      { name: 'x boolean', type: 'boolean', letter: 'E' },
      { name: 'x date', type: 'date', letter: 'F' },
    ],
    extensions: [],
    costs: [{ name: 'purchase', letter: 'G' }],
  })
})

t.test('limited values of every type are read as they were declared', async (t) => {
  const limited = [
    ['string', ['a', 'A', 'é', 'null']],
    ['integer', [0, -5, 9007199254740991]],
    ['number', [0.1, 0.000001, 100000000000000, -2.5]],
    ['boolean', [true]],
    ['date', ['2024-02-29', '0001-01-01']],
  ].map(([type, values]) => ({ name: `x${type}`, type, values }))
  const account = await aShopOf(t, service, { extensions: limited })
  const { extensions } = (await account.get(path)).body
  t.strictSame(
    extensions.map(({ letter: _, ...column }: { letter: string }) => column),
    limited,
  )
})

t.test('an account sees its own columns only', async (t) => {
  await aShopOf(t, service, smallSchema)
  const other = await service.newAccount(t)
  t.strictSame((await other.get(path)).body, { attributes: [], extensions: [], costs: [] })
})
