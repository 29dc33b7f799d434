import t from 'tap'
import { catalogPath, productsPath, schemaPath, smallSchema } from '../helpers/catalog.ts'
import { astral } from '../helpers/hostile.ts'
import { type BadPayload, expectRefused } from '../helpers/refused.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aShopOf } from '../helpers/shop.ts'

const service = await sharedService()
const row = { code: 'A', country: 'UK' }

const cases: BadPayload[] = [
  ['not an array', { ...row }, ['', 'type']],
  ['a payload object', { payload: [row] }, ['', 'type']],
  ['null', 'null', ['', 'type']],
  ['rows that are no objects', [1, null, 'A', [], row].slice(0, 4), ...each(4, '', 'type')],
  ['no code', [{ country: 'UK' }], ['/0/code', 'required']],
  ['a code that is a number', [{ ...row, code: 1 }], ['/0/code', 'type']],
  ['a code that is null', [{ ...row, code: null }], ['/0/code', 'type']],
  ['a code that is a list', [{ ...row, code: ['A'] }], ['/0/code', 'type']],
  ['an empty code', [{ ...row, code: '' }], ['/0/code', 'length']],
  ['a code of 256 characters', [{ ...row, code: astral(256) }], ['/0/code', 'length']],
  ['no extension', [{ code: 'A' }], ['/0/country', 'required']],
  ['an extension that is null', [{ ...row, country: null }], ['/0/country', 'type']],
  ['an extension of another type', [{ ...row, country: 44 }], ['/0/country', 'type']],
  ['an empty extension', [{ ...row, country: '' }], ['/0/country', 'length']],
  ['a long extension', [{ ...row, country: astral(256) }], ['/0/country', 'length']],
  ['an attribute that is null', [{ ...row, color: null }], ['/0/color', 'type']],
  ['an attribute of another type', [{ ...row, color: true }], ['/0/color', 'type']],
  ['an attribute that is a list', [{ ...row, color: ['red'] }], ['/0/color', 'type']],
  ['a cost that is null', [{ ...row, purchase: null }], ['/0/purchase', 'type']],
  ['a cost that is a string', [{ ...row, purchase: '1' }], ['/0/purchase', 'type']],
  ['a cost that is a boolean', [{ ...row, purchase: true }], ['/0/purchase', 'type']],
  ['a negative cost', [{ ...row, purchase: -0.01 }], ['/0/purchase', 'range']],
  ['a cost of seven decimals', [{ ...row, purchase: 0.1234567 }], ['/0/purchase', 'format']],
  ['a tiny cost', [{ ...row, purchase: 1e-300 }], ['/0/purchase', 'format']],
  [
    'a cost of 16 digits',
    `[{"code":"A","country":"UK","purchase":1234567890.123456}]`,
    ['/0/purchase', 'format'],
  ],
  [
    'a cost beyond a double',
    `[{"code":"A","country":"UK","purchase":1e400}]`,
    ['/0/purchase', 'format'],
  ],
  ['active that is a string', [{ ...row, active: 'true' }], ['/0/active', 'type']],
  ['active that is null', [{ ...row, active: null }], ['/0/active', 'type']],
  ['an empty key', [{ ...row, '': 1 }], ['/0/', 'unknown_key']],
  ['an unknown key', [{ ...row, colour: 'red' }], ['/0/colour', 'unknown_key']],
  [
    'a key of the object prototype',
    [{ ...row, constructor: 'x' }],
    ['/0/constructor', 'unknown_key'],
  ],
  ['a key that needs escaping', [{ ...row, 'a/b~c': 1 }], ['/0/a~1b~0c', 'unknown_key']],
  [
    'nested extensions',
    [{ code: 'A', extensions: { country: 'UK' } }],
    ['/0/country', 'required'],
    ['/0/extensions', 'unknown_key'],
  ],
  ['a price', [{ ...row, price: 1 }], ['/0/price', 'unknown_key']],
  [
    'several faults of a row',
    [{ ...row, color: 1, purchase: 'x', y: 1 }],
    ['/0/color', 'type'],
    ['/0/purchase', 'type'],
    ['/0/y', 'unknown_key'],
  ],
  ['one key, another cost', [row, { ...row, purchase: 1 }], ['/1', 'duplicate_row']],
  ['one key, another active', [{ ...row, active: true }, row], ['/1', 'duplicate_row']],
  [
    'one key, another attribute',
    [
      { ...row, color: 'a' },
      { ...row, color: 'b' },
    ],
    ['/1/color', 'duplicate_row'],
  ],
  [
    'one key, beside a row that has another attribute',
    [
      { ...row, color: 'a' },
      { ...row, country: 'FR', color: 'b' },
      { ...row, country: 'FR', active: false },
    ],
    ['/1/color', 'duplicate_row'],
    ['/2', 'duplicate_row'],
  ],
  [
    'one code, another attribute',
    [
      { ...row, color: 'a' },
      { ...row, country: 'FR', color: 'b' },
    ],
    ['/1/color', 'duplicate_row'],
  ],
  [
    'good rows among bad ones of every kind',
    [
      row,
      { country: 'UK' },
      { code: 'B', country: 'UK' },
      { code: 'C' },
      { ...row, purchase: 2 },
      { ...row, code: 'D', x: 1 },
    ],
    ['/1/code', 'required'],
    ['/3/country', 'required'],
    ['/4', 'duplicate_row'],
    ['/5/x', 'unknown_key'],
  ],
]

function each(count: number, field: string, code: string): [string, string][] {
  return Array.from({ length: count }, (_, index) => [`/${index}${field}`, code])
}

t.test('a payload that breaks a rule is refused whole, and every bad row is named', async (t) => {
  const present = { code: 'A', country: 'US', color: 'red', purchase: 1 }
  const account = await aShopOf(t, service, smallSchema, [present])
  await expectRefused(t, account, productsPath, () => account.get(catalogPath), cases)
})

t.test('the message of rows that differ names both', async (t) => {
  const account = await aShopOf(t, service, smallSchema)
  const payload = [row, { ...row, code: 'B' }, { ...row, purchase: 1 }]
  const { body } = await account.post(productsPath, payload)
  t.match(body.errors[0].message, /rows 0 and 2/)
  const colors = [
    { ...row, color: 'a' },
    { code: 'B', country: 'UK' },
    { ...row, color: 'b' },
  ]
  t.match((await account.post(productsPath, colors)).body.errors[0].message, /rows 0 and 2/)
})

t.test('of more than 1,000 errors the first 1,000 are listed and all are counted', async (t) => {
  const account = await aShopOf(t, service, smallSchema)
  const rows = Array.from({ length: 1500 }, (_, index) => (index === 3 ? row : { code: 'A' }))
  const { status, body } = await account.post(productsPath, rows)
  t.equal(status, 400)
  t.strictSame([body.error_count, body.errors.length, body.errors[3].row], [1499, 1000, 4])
})

t.test('what cannot be stored is a malformed body', async (t) => {
  const account = await aShopOf(t, service, smallSchema)
  for (const body of [
    '[{"code":"A","country":"UK","__proto__":"x"}]',
    '[{"code":"A","country":"U\\u0000K"}]',
    '[{"code":"\\udc00","country":"UK"}]',
    '[{"code":"A","code":"B","country":"UK"}]',
    Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d]),
  ]) {
    const answer = await account.post(productsPath, body)
    t.strictSame([answer.status, answer.body.type], [400, 'malformed-body'])
  }
  t.equal((await account.get(catalogPath)).body.count, 0)
})

t.test('before any column is declared every key beside code and active is unknown', async (t) => {
  const account = await service.newAccount(t)
  await expectRefused(t, account, productsPath, () => account.get(catalogPath), [
    ['no schema', [row], ['/0/country', 'unknown_key']],
  ])
  await account.post(schemaPath, smallSchema)
  t.equal((await account.post(productsPath, [row])).status, 200)
})
