import t from 'tap'
import { listsPath, typedColumns } from '../helpers/catalog.ts'
import { type BadPayload, expectRefused } from '../helpers/refused.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aShopOf } from '../helpers/shop.ts'

const service = await sharedService()
const schema = {
  attributes: [...typedColumns('a'), { name: 'a/b~', type: 'string' }],
  extensions: [{ name: 'country', type: 'string', values: ['UK'] }],
  costs: [{ name: 'purchase' }],
}

/** One list with these filters; faults are named below `product_filters`. */
const filters = (
  rule: string,
  product_filters: unknown,
  ...faults: [string, string][]
): BadPayload => [
  rule,
  [{ name: 'L', valid_from: '2026-01-01', valid_to: '2026-12-31', product_filters }],
  ...faults.map(([field, code]): [string, string] => [`/0/product_filters${field}`, code]),
]

const cases: BadPayload[] = [
  filters('filters that are a list', [], ['', 'type']),
  filters('filters that are null', null, ['', 'type']),
  filters('a value that is no list', { country: 'UK' }, ['/country', 'type']),
  filters('a list that is null', { country: null }, ['/country', 'type']),
  filters('a value that is null', { country: ['UK', null] }, ['/country/1', 'type']),
  filters('a value that is an object', { code: [{}] }, ['/code/0', 'type']),
  filters('no such column', { color: ['red'] }, ['/color', 'unknown_column']),
  filters('a prototype key', { constructor: ['red'] }, ['/constructor', 'unknown_column']),
  filters('a cost column', { purchase: [1] }, ['/purchase', 'unknown_column']),
  filters('a fixed key', { active: [true] }, ['/active', 'unknown_column']),
  filters('a letter', { B: ['x'] }, ['/B', 'unknown_column']),
  filters('a number for a code', { code: [1] }, ['/code/0', 'type']),
  filters('an empty code', { code: ['A', ''] }, ['/code/1', 'length']),
  filters('a number for a string', { astring: ['a', 1] }, ['/astring/1', 'type']),
  filters(
    'a fraction for an integer',
    { ainteger: [1, 1.5, '2'] },
    ['/ainteger/1', 'type'],
    ['/ainteger/2', 'type'],
  ),
  filters('a string for a number', { anumber: ['1'] }, ['/anumber/0', 'type']),
  filters('seven decimals', { anumber: [0.1234567] }, ['/anumber/0', 'format']),
  filters('a string for a boolean', { aboolean: ['true'] }, ['/aboolean/0', 'type']),
  filters('no real day', { adate: ['2026-02-30'] }, ['/adate/0', 'format']),
  filters('a name to escape', { 'a/b~': ['x', 2] }, ['/a~1b~0/1', 'type']),
  filters('a name to escape, unknown', { 'a~/': [] }, ['/a~0~1', 'unknown_column']),
]

t.test('filters name code, attributes or extensions, and values of their types', async (t) => {
  const account = await aShopOf(t, service, schema)
  await expectRefused(t, account, listsPath, () => account.get('/api/v1/price_list/'), cases)
})
