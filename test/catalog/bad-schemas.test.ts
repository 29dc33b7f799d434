import t from 'tap'
import { schemaPath, smallSchema } from '../helpers/catalog.ts'
import { astral } from '../helpers/hostile.ts'
import { type BadPayload, expectRefused } from '../helpers/refused.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aShopOf } from '../helpers/shop.ts'

const service = await sharedService()
const readPath = '/api/v1/product_catalog/schema/'
const string = (name: string) => ({ name, type: 'string' })
const limited = (type: string, values: unknown) => ({ extensions: [{ name: 'e', type, values }] })
const many = (length: number) => Array.from({ length }, (_, index) => string(`c${index}`))
const value = '/extensions/0/values/0'

const cases: BadPayload[] = [
  ['not an object', [], ['', 'type']],
  ['a string', '"schema"', ['', 'type']],
  ['null', 'null', ['', 'type']],
  ['an unknown key', { columns: [] }, ['/columns', 'unknown_key']],
  ['rows that are no schema', { payload: [{ code: 'A' }] }, ['/payload', 'unknown_key']],
  ['a list that is none', { attributes: {} }, ['/attributes', 'type']],
  ['a list that is null', { extensions: null }, ['/extensions', 'type']],
  ['a list that is a string', { costs: 'purchase' }, ['/costs', 'type']],
  ['a column that is a string', { attributes: ['color'] }, ['/attributes/0', 'type']],
  ['no name', { attributes: [{ type: 'string' }] }, ['/attributes/0/name', 'required']],
  ['no type', { extensions: [{ name: 'e' }] }, ['/extensions/0/type', 'required']],
  ['no name of a cost', { costs: [{}] }, ['/costs/0/name', 'required']],
  ['an unknown key of a column', { costs: [{ name: 'c', x: 1 }] }, ['/costs/0/x', 'unknown_key']],
  [
    'a type of a cost',
    { costs: [{ name: 'c', type: 'number' }] },
    ['/costs/0/type', 'unknown_key'],
  ],
  ['a name of another type', { costs: [{ name: 1 }] }, ['/costs/0/name', 'type']],
  ['a name that is null', { costs: [{ name: null }] }, ['/costs/0/name', 'type']],
  ['an empty name', { costs: [{ name: '' }] }, ['/costs/0/name', 'length']],
  ['a name of 256 characters', { costs: [{ name: astral(256) }] }, ['/costs/0/name', 'length']],
  [
    'another type',
    { attributes: [{ name: 'a', type: 'text' }] },
    ['/attributes/0/type', 'not_allowed'],
  ],
  ['no values', limited('string', []), ['/extensions/0/values', 'length']],
  ['values that are no list', limited('string', 'red'), ['/extensions/0/values', 'type']],
  ['values that are null', limited('string', null), ['/extensions/0/values', 'type']],
  ['a value twice', limited('string', ['a', 'a']), ['/extensions/0/values', 'not_allowed']],
  ['a value that is null', limited('string', [null]), [value, 'type']],
  ['a number for a string', limited('string', [1]), [value, 'type']],
  ['an empty string', limited('string', ['']), [value, 'length']],
  ['a fraction for an integer', limited('integer', [1.5]), [value, 'type']],
  ['a string for an integer', limited('integer', ['1']), [value, 'type']],
  ['seven decimals', limited('number', [0.1234567]), [value, 'format']],
  ['a string for a boolean', limited('boolean', ['true']), [value, 'type']],
  ['no real day', limited('date', ['2026-02-29']), [value, 'format']],
  [
    'every value that is wrong',
    limited('integer', [1, 'x', 2, true]),
    ['/extensions/0/values/1', 'type'],
    ['/extensions/0/values/3', 'type'],
  ],
  [
    'a name twice, across kinds too',
    { attributes: [string('x'), string('x')], extensions: [string('x')], costs: [{ name: 'x' }] },
    ['/attributes/1/name', 'duplicate_row'],
    ['/extensions/0/name', 'duplicate_row'],
    ['/costs/0/name', 'duplicate_row'],
  ],
  ['101 attributes', { attributes: many(101) }, ['/attributes', 'length']],
  ['31 extensions', { extensions: many(31) }, ['/extensions', 'length']],
  ['101 costs', { costs: many(101).map(({ name }) => ({ name })) }, ['/costs', 'length']],
  [
    '10,001 values',
    limited(
      'integer',
      Array.from({ length: 10_001 }, (_, index) => index),
    ),
    ['/extensions/0/values', 'length'],
  ],
]

/** Every fixed key of rows, requests and answers that a column may not be called. */
const reserved =
  'code price date attributes extensions promotion price_dimension active pk price_list_name price_list_id ' +
  'extended_catalog_id active_price promotions dynamic_attribute_name dynamic_attribute_value competitor_price ' +
  'competitor_name departure_date latest_update __proto__ transaction_id extension quantity client_code ' +
  'agreement_code revenue transaction_date currency price_line price_list_code prices product_code valid_from ' +
  'valid_to price_dimensions margin_formula product_filters is_calendar is_dated name added attributes_config ' +
  'base_price created dimensions dynamic_attributes error finished hash id include input margin output payload ' +
  'progress promotion_date removed resource_type status total untouched updated value active_margin ' +
  'agreement competition expected_price explain lowest_price priced sales'

t.test('a schema that breaks a rule is refused with the place of each fault', async (t) => {
  const account = await aShopOf(t, service, smallSchema)
  await expectRefused(t, account, schemaPath, () => account.get(readPath), cases)
})

t.test('no column is called like a fixed key', async (t) => {
  const account = await service.newAccount(t)
  const names: BadPayload[] = reserved.split(' ').flatMap((name): BadPayload[] => [
    [name, { attributes: [string(name)] }, ['/attributes/0/name', 'not_allowed']],
    [name, { extensions: [string(name)] }, ['/extensions/0/name', 'not_allowed']],
    [name, { costs: [{ name }] }, ['/costs/0/name', 'not_allowed']],
  ])
  await expectRefused(t, account, schemaPath, () => account.get(readPath), names)
})

t.test('a __proto__ key, NUL and a lone surrogate are malformed bodies', async (t) => {
  const account = await service.newAccount(t)
  for (const body of [
    '{"__proto__": []}',
    '{"costs": [{"name": "a\\u0000"}]}',
    '{"costs": [{"name": "\\ud800"}]}',
    '{"costs": [], "costs": []}',
    '{"costs": [',
  ]) {
    const answer = await account.post(schemaPath, body)
    t.strictSame([answer.status, answer.body.type], [400, 'malformed-body'], body)
  }
})
