import t from 'tap'
import { listsPath, smallSchema } from '../helpers/catalog.ts'
import { astral } from '../helpers/hostile.ts'
import { type BadPayload, expectRefused } from '../helpers/refused.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aShopOf } from '../helpers/shop.ts'

const service = await sharedService()
const list = { name: 'L', valid_from: '2026-01-01', valid_to: '2026-12-31' }

/** One list with these fields; faults are named by field. */
const fields = (rule: string, given: object, ...faults: [string, string][]): BadPayload => [
  rule,
  [{ ...list, ...given }],
  ...faults.map(([field, code]): [string, string] => [`/0/${field}`, code]),
]
const formula = (margin_formula: string) =>
  fields(margin_formula, { margin_formula }, ['margin_formula', 'formula'])

const shapes: BadPayload[] = [
  ['not an array', list, ['', 'type']],
  ['a payload object', { payload: [list] }, ['', 'type']],
  ['null', 'null', ['', 'type']],
  ['rows that are no objects', [1, null, []], ['/0', 'type'], ['/1', 'type'], ['/2', 'type']],
  [
    'nothing in it',
    [{}],
    ['/0/name', 'required'],
    ['/0/valid_from', 'required'],
    ['/0/valid_to', 'required'],
  ],
  ...Object.keys(list).map(
    (key): BadPayload => [`no ${key}`, [{ ...list, [key]: undefined }], [`/0/${key}`, 'required']],
  ),
  fields('an unknown key', { origin: 'ui' }, ['origin', 'unknown_key']),
  fields('a key that needs escaping', { 'x/y~z': 1 }, ['x~1y~0z', 'unknown_key']),
  fields('a name that is a number', { name: 5 }, ['name', 'type']),
  fields('a name that is null', { name: null }, ['name', 'type']),
  fields('an empty name', { name: '' }, ['name', 'length']),
  fields('a name of 256 characters', { name: astral(256) }, ['name', 'length']),
  fields('a description that is a number', { description: 1 }, ['description', 'type']),
  fields('a description that is null', { description: null }, ['description', 'type']),
  fields('a description too long', { description: 'x'.repeat(10_001) }, ['description', 'length']),
  fields('a day that is a number', { valid_from: 20260101 }, ['valid_from', 'type']),
  fields('a day that is null', { valid_to: null }, ['valid_to', 'type']),
  fields('no real day', { valid_from: '2026-02-29' }, ['valid_from', 'format']),
  fields('a day of the year 0', { valid_from: '0000-12-31' }, ['valid_from', 'format']),
  fields('a timestamp', { valid_to: '2026-12-31T00:00:00Z' }, ['valid_to', 'format']),
  fields('a word', { valid_to: 'infinity' }, ['valid_to', 'format']),
  fields('an end before the start', { valid_to: '2025-12-31' }, ['valid_to', 'range']),
  fields('dimensions in a string', { price_dimensions: 'price' }, ['price_dimensions', 'type']),
  fields('dimensions that are null', { price_dimensions: null }, ['price_dimensions', 'type']),
  fields('no dimension', { price_dimensions: [] }, ['price_dimensions', 'length']),
  fields('101 dimensions', { price_dimensions: Array.from({ length: 101 }, (_, i) => `${i}`) }, [
    'price_dimensions',
    'length',
  ]),
  fields('a dimension twice', { price_dimensions: ['a', 'b', 'a'] }, [
    'price_dimensions',
    'not_allowed',
  ]),
  fields(
    'a dimension twice that objects have',
    { price_dimensions: ['toString', 'x', 'toString'] },
    ['price_dimensions', 'not_allowed'],
  ),
  fields('a dimension twice that no object has', { price_dimensions: ['__proto__', '__proto__'] }, [
    'price_dimensions',
    'not_allowed',
  ]),
  fields('a dimension that is a number', { price_dimensions: ['a', 1] }, [
    'price_dimensions/1',
    'type',
  ]),
  fields('an empty dimension', { price_dimensions: [''] }, ['price_dimensions/0', 'length']),
  fields('a dimension of 256', { price_dimensions: [astral(256)] }, [
    'price_dimensions/0',
    'length',
  ]),
  fields('a currency in small letters', { currency: 'eur' }, ['currency', 'format']),
  fields('a currency that is null', { currency: null }, ['currency', 'type']),
  fields('a currency of two letters', { currency: 'EU' }, ['currency', 'format']),
  fields('decimals below 0', { decimals: -1 }, ['decimals', 'range']),
  fields('decimals above 6', { decimals: 7 }, ['decimals', 'range']),
  fields('half a decimal', { decimals: 1.5 }, ['decimals', 'type']),
  fields('decimals in a text', { decimals: '2' }, ['decimals', 'type']),
  fields('decimals that are null', { decimals: null }, ['decimals', 'type']),
  fields('a hide_unpriced that is a text', { hide_unpriced: 'yes' }, ['hide_unpriced', 'type']),
  fields('guardrails that are null', { guardrails: null }, ['guardrails', 'type']),
  fields('an unknown guardrail', { guardrails: { minPrice: 1 } }, [
    'guardrails/minPrice',
    'unknown_key',
  ]),
  fields('a guardrail that is null', { guardrails: { no_zero: null } }, [
    'guardrails/no_zero',
    'type',
  ]),
  fields('a lowest price above the highest', { guardrails: { min_price: 2, max_price: 1 } }, [
    'guardrails',
    'range',
  ]),
  fields('a guardrail below 0', { guardrails: { max_increase_percent: -1 } }, [
    'guardrails/max_increase_percent',
    'range',
  ]),
  fields('a formula that is a number', { margin_formula: 1 }, ['margin_formula', 'type']),
  fields('a formula that is null', { margin_formula: null }, ['margin_formula', 'type']),
  fields('a formula too long', { margin_formula: `=${'1'.repeat(1000)}` }, [
    'margin_formula',
    'length',
  ]),
  fields('a calendar in a string', { is_calendar: 'true' }, ['is_calendar', 'type']),
  fields('a calendar that is 1', { is_calendar: 1 }, ['is_calendar', 'type']),
  fields('a calendar that is null', { is_calendar: null }, ['is_calendar', 'type']),
]

const rules: BadPayload[] = [
  ...['', '1', '=', '=Price +', '=B', '="country"', '=K', '="freight"', `=${'('.repeat(900)}`].map(
    formula,
  ),
  fields(
    'every fault of a list',
    { valid_to: '2025-01-01', margin_formula: '=?', product_filters: { x: [] } },
    ['valid_to', 'range'],
    ['product_filters/x', 'unknown_column'],
    ['margin_formula', 'formula'],
  ),
  ['one name, another content', [list, { ...list, description: 'x' }], ['/1', 'duplicate_row']],
  [
    'one name, three contents',
    [list, { ...list, is_calendar: true }, list, { ...list, description: '' }],
    ['/1', 'duplicate_row'],
    ['/3', 'duplicate_row'],
  ],
  [
    'good lists among bad ones of every kind',
    [
      list,
      { name: 'M' },
      { ...list, name: 'N' },
      { ...list, name: 'O', margin_formula: '=' },
      { ...list, description: 'y' },
      { ...list, name: 'P', x: 1 },
    ],
    ['/1/valid_from', 'required'],
    ['/1/valid_to', 'required'],
    ['/3/margin_formula', 'formula'],
    ['/4', 'duplicate_row'],
    ['/5/x', 'unknown_key'],
  ],
]

t.test('a payload that breaks a rule is refused whole, and every bad list is named', async (t) => {
  const account = await aShopOf(t, service, smallSchema)
  await account.post(listsPath, [{ ...list, name: 'present' }])
  const read = () => account.get('/api/v1/price_list/')
  await expectRefused(t, account, listsPath, read, [...shapes, ...rules])
})

t.test('the message of a formula says where the fault is', async (t) => {
  const account = await aShopOf(t, service, smallSchema)
  const { body } = await account.post(listsPath, [{ ...list, margin_formula: '= Price - ?' }])
  t.match(body.errors[0].message, /"\?" at character 11/)
})

t.test('the message of lists that differ names both', async (t) => {
  const account = await service.newAccount(t)
  const payload = [list, { ...list, name: 'M' }, { ...list, description: 'x' }]
  t.match((await account.post(listsPath, payload)).body.errors[0].message, /rows 0 and 2/)
})

t.test('a bad row is 400 even when a name is taken', async (t) => {
  const account = await service.newAccount(t)
  await account.post(listsPath, [list])
  const { status } = await account.post(listsPath, [list, { ...list, name: '' }])
  t.equal(status, 400)
})
