import t from 'tap'
import { catalogPath, productsPath, typedColumns } from '../helpers/catalog.ts'
import { type BadPayload, expectRefused } from '../helpers/refused.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aShopOf } from '../helpers/shop.ts'

const service = await sharedService()

const faults: Record<string, [unknown, string][]> = {
  string: [
    [1, 'type'],
    [true, 'type'],
    [null, 'type'],
    [{}, 'type'],
    ['', 'length'],
    ['x'.repeat(256), 'length'],
  ],
  integer: [
    [1.5, 'type'],
    ['1', 'type'],
    [true, 'type'],
    [null, 'type'],
    [2 ** 53, 'type'],
    [1e300, 'type'],
  ],
  number: [
    ['1', 'type'],
    [false, 'type'],
    [null, 'type'],
    [[1], 'type'],
    [1e-7, 'format'],
    [1e-21, 'format'],
  ],
  boolean: [
    ['true', 'type'],
    [0, 'type'],
    [1, 'type'],
    [null, 'type'],
  ],
  date: [
    ['2026-02-29', 'format'],
    ['2026-1-1', 'format'],
    ['today', 'format'],
    ['0000-01-01', 'format'],
    ['2026-01-01T00:00:00Z', 'format'],
    [20260101, 'type'],
    [null, 'type'],
  ],
}

t.test('a whole number that is too large is told how large one may be', async (t) => {
  const extensions = [{ name: 'size', type: 'integer' }]
  const account = await aShopOf(t, service, { extensions })
  const { body } = await account.post(productsPath, [{ code: 'A', size: 2 ** 53 }])
  t.equal(
    body.errors[0].message,
    'must be a whole number from -9007199254740991 to 9007199254740991',
  )
})

t.test('a value must be of its column, for attributes and extensions alike', async (t) => {
  const account = await aShopOf(t, service, {
    attributes: typedColumns('a'),
    extensions: typedColumns('e'),
  })
  const good = {
    code: 'A',
    estring: 'x',
    einteger: 1,
    enumber: 1,
    eboolean: true,
    edate: '2026-01-01',
  }
  const wrong = Object.entries(faults).flatMap(([type, values]) =>
    values.flatMap(([value, code]): BadPayload[] =>
      ['a', 'e'].map((kind) => [
        `${kind}${type} ${JSON.stringify(value)}`,
        [{ ...good, [`${kind}${type}`]: value }],
        [`/0/${kind}${type}`, code],
      ]),
    ),
  )
  await expectRefused(t, account, productsPath, () => account.get(catalogPath), wrong)
})

t.test('a column with allowed values takes no other', async (t) => {
  const allowed = [
    { name: 'string', type: 'string', values: ['red'] },
    { name: 'number', type: 'number', values: [1.5, 2] },
    { name: 'day', type: 'date', values: ['2026-01-01'] },
  ]
  const good = { code: 'A', string: 'red', number: 1.5, day: '2026-01-01' }
  const account = await aShopOf(t, service, { extensions: allowed }, [
    good,
    { ...good, number: 2.0 },
  ])
  await expectRefused(t, account, productsPath, () => account.get(catalogPath), [
    ['another case', [{ ...good, string: 'Red' }], ['/0/string', 'not_allowed']],
    ['another number', [{ ...good, number: 1.51 }], ['/0/number', 'not_allowed']],
    ['another day', [{ ...good, day: '2026-01-02' }], ['/0/day', 'not_allowed']],
    ['another type', [{ ...good, number: '2' }], ['/0/number', 'type']],
  ])
})

t.test('the fault of a value names the first 20 that are allowed', async (t) => {
  const values = Array.from({ length: 10_000 }, (_, index) => index * 1.5)
  const extensions = [{ name: 'size', type: 'number', values }]
  const account = await aShopOf(t, service, { extensions }, [
    { code: 'A', size: 0 },
    { code: 'A', size: 14_998.5 },
  ])
  const { body } = await account.post(productsPath, [{ code: 'A', size: 1 }])
  t.equal(body.errors[0].message, `must be one of ${values.slice(0, 20).join(', ')}`)
  const schema = await account.get('/api/v1/product_catalog/schema/')
  t.strictSame(schema.body.extensions[0].values, values, 'all are kept in their order')
})

t.test('a hostile column name is named with its pointer escaped', async (t) => {
  const names = ['a/b', 'a~b', '~1', 'constructor', '😀"', '']
    .filter((name) => name !== '')
    .map((name) => ({ name, type: 'integer' }))
  const account = await aShopOf(t, service, { attributes: names })
  await expectRefused(t, account, productsPath, () => account.get(catalogPath), [
    ['a slash', [{ code: 'A', 'a/b': 'x' }], ['/0/a~1b', 'type']],
    ['a tilde', [{ code: 'A', 'a~b': 'x' }], ['/0/a~0b', 'type']],
    ['an escape', [{ code: 'A', '~1': 'x' }], ['/0/~01', 'type']],
    ['a prototype key', [{ code: 'A', constructor: 'x' }], ['/0/constructor', 'type']],
    ['characters beyond the plane', [{ code: 'A', '😀"': 'x' }], ['/0/😀"', 'type']],
  ])
})

t.test('a key too long for an index is a row error', async (t) => {
  const extensions = ['e1', 'e2', 'e3'].map((name) => ({ name, type: 'string' }))
  const account = await aShopOf(t, service, { extensions })
  const text = (seed: number, length: number) =>
    String.fromCodePoint(...Array.from({ length }, (_, i) => 0x20000 + ((i * 7919 * seed) % 42000)))
  const long = { code: text(1, 255), e1: text(2, 255), e2: text(3, 255), e3: 'x' }
  const longest = { ...long, e2: text(3, 136), e3: 'xxxxxx' }
  await expectRefused(t, account, productsPath, () => account.get(catalogPath), [
    ['3,071 bytes', [longest, long], ['/1', 'length']],
    ['2,601 bytes', [{ ...longest, e3: 'xxxxxxx' }], ['/0', 'length']],
    ['2,601 bytes, a quote escaped', [{ ...longest, e3: 'xxxxx"' }], ['/0', 'length']],
  ])
  t.equal((await account.post(productsPath, [longest])).status, 200)
})

t.test('extensions that need escapes in a key are told apart and found again', async (t) => {
  const texts = [
    '"',
    '\\',
    '\\"',
    '\b',
    '\f',
    '\n',
    '\r',
    '\t',
    '\u0001',
    '\u001f',
    '\u007f',
    '\u2028',
    ',',
    '","',
  ]
  const rows = texts.map((e1) => ({ code: 'A', e1 }))
  const extensions = [{ name: 'e1', type: 'string' }]
  const account = await aShopOf(t, service, { extensions }, rows)
  const again = await account.post(productsPath, rows)
  t.equal(again.body.updated.length, texts.length)
  t.equal(new Set(again.body.updated).size, texts.length)
})
