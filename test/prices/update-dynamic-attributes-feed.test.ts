import t from 'tap'
import { startTestService } from '../helpers/service.ts'
import { addProducts, aList, aShop, rowsOf } from '../helpers/shop.ts'

const path = '/api/v1/prices/bulk_update_dynamic_attributes/?price_list_name=list'
const service = await startTestService(t)
const head = 'code,country,dynamic_attribute_name,dynamic_attribute_value'

t.test(
  'dynamic attributes of a file are JSON where they can be read as JSON, else texts',
  async (t) => {
    const shop = await aShop(t, service, { codes: ['A'], countries: ['UK', 'FR'] })
    const list = await aList(shop, {})
    await addProducts(shop, 'list', [
      { code: 'A', country: 'UK' },
      { code: 'A', country: 'FR' },
    ])
    const rows = [
      'A,UK,shelf,"{""aisle"":4}"',
      'A,UK,on,TRUE',
      'A,UK,side,left',
      'A,UK,text,"""4"""',
    ]
    const answer = await shop.send('POST', path, [head, ...rows, 'A,FR,n,4'].join('\n'), {
      'content-type': 'text/csv',
    })
    t.match(answer, { status: 201, body: { rows: 5, created: 0, updated: 2 } })
    const [uk, fr] = (await rowsOf(shop, list)).sort((a, b) => (a.country > b.country ? -1 : 1))
    t.strictSame(uk.dynamic_attributes, { on: true, side: 'left', text: '4', shelf: { aisle: 4 } })
    t.strictSame(fr.dynamic_attributes, { n: 4 })
  },
)

t.test('bad rows of a file are named, and nothing is set', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const list = await aList(shop, {})
  await addProducts(shop, 'list', [{ code: 'A', country: 'UK' }])
  const names = Array.from({ length: 101 }, (_, index) => `A,UK,n${index},1`)
  const cases: [string[], ...[number, string, string][]][] = [
    [['X,UK,n,1'], [2, '/0/code', 'row_not_in_list']],
    [
      ['A,UK,n,1', 'A,UK,n,2'],
      [3, '/1', 'duplicate_row'],
    ],
    [['A,UK,__proto__,1'], [2, '/0/dynamic_attribute_name', 'not_allowed']],
    [[`A,UK,n,${'x'.repeat(5000)}`], [2, '/0/dynamic_attribute_value', 'length']],
    [['A,UK,n,'], [2, '/0/dynamic_attribute_value', 'required']],
    [['A,UK,n,"""\\u0000"""'], [2, '/0', 'malformed_row']],
    [['A,UK,n,"{""a"":1,""a"":2}"'], [2, '/0', 'malformed_row']],
    [[`A,UK,n,${'['.repeat(20_000)}${']'.repeat(20_000)}`], [2, '/0', 'malformed_row']],
    [names, [102, '/100/dynamic_attribute_name', 'length']],
  ]
  for (const [rows, ...faults] of cases) {
    const { status, body } = await shop.send('POST', path, [head, ...rows].join('\n'), {
      'content-type': 'text/csv',
    })
    t.equal(status, 400, rows[0] as string)
    t.strictSame(
      body.errors.map(({ line, pointer, code }: Record<string, unknown>) => [line, pointer, code]),
      faults,
      rows[0] as string,
    )
  }
  t.strictSame((await rowsOf(shop, list))[0].dynamic_attributes, {})
})
