import fc from 'fast-check'
import t from 'tap'
import { expectProblem } from '../helpers/faults.ts'
import { startTestService, type TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aFilledList, aList, aShopOf, setPrices } from '../helpers/shop.ts'

const path = '/api/v1/prices/get_prices/'
const service = await sharedService()

type Key = [code: string, country: string, size: number, isNew: boolean]

const schema = {
  attributes: [
    { name: 'color', type: 'string' },
    { name: 'year', type: 'integer' },
  ],
  extensions: [
    { name: 'country', type: 'string' },
    { name: 'size', type: 'integer' },
    { name: 'new', type: 'boolean' },
  ],
}

const inList: Key[] = [
  ['A', 'FR', 9, true],
  ['A', 'FR', 10, false],
  ['A', 'FR', 10, true],
  ['A', 'UK', -1, true],
  ['B', 'FR', 9, false],
  ['B', 'UK', 100, true],
  ['a', 'UK', 9, true],
  ['É', 'UK', 9, true],
]

const attributes: Record<string, object> = {
  A: { color: 'red', year: 2024 },
  B: { color: 'red', year: 2025 },
  a: { color: 'blue' },
  C: { color: 'red', year: 2024 },
}

/** A shop with three extensions and two attributes, and a published list L of the rows above; more is in the catalog. */
async function aWideShop(t: Parameters<typeof aShopOf>[0]): Promise<TestAccount> {
  const product = ([code, country, size, isNew]: Key) => ({ code, country, size, new: isNew })
  const outside: Key[] = [
    ['A', 'UK', 7, false],
    ['C', 'FR', 9, true],
  ]
  const products = [...outside, ...inList.toReversed()].map(product)
  const withAttributes = products.map((row) => ({ ...row, ...attributes[row.code] }))
  const shop = await aShopOf(t, service, schema, withAttributes)
  await aList(shop, { name: 'L' })
  await addProducts(shop, 'L', inList.toReversed().map(product))
  await setPrices(
    shop,
    'L',
    inList.map((key, index) => ({ ...product(key), price: index })),
  )
  return shop
}

/** Reads L and answers the prices, which are the indexes of the rows in the list above. */
async function read(shop: TestAccount, ...payload: object[]): Promise<number[]> {
  const { body } = await shop.post(path, { price_list_name: 'L', payload })
  return body.map(({ active_price }: { active_price: number }) => active_price)
}

t.test(
  'each wildcard gives one output row per match in the published list, by code and then by extensions',
  async (t) => {
    const shop = await aWideShop(t)
    const table: [string, object, number[]][] = [
      ['one of three extensions is missing', { code: 'A', country: 'FR', size: 10 }, [1, 2]],
      ['another one is missing', { code: 'A', country: 'FR', new: true }, [0, 2]],
      ['the first one is missing', { code: 'A', size: 10, new: true }, [2]],
      ['two are missing', { code: 'A', new: true }, [0, 2, 3]],
      ['all are missing', { code: 'A' }, [0, 1, 2, 3]],
      ['all are missing, with an empty object', { code: 'A', extensions: {} }, [0, 1, 2, 3]],
      ['one is nested, two are missing', { code: 'A', extensions: { country: 'UK' } }, [3]],
      ['the code is missing', { country: 'UK', size: 9, new: true }, [6, 7]],
      ['the code and some extensions are missing', { size: 9 }, [0, 4, 6, 7]],
      ['everything is missing', {}, [0, 1, 2, 3, 4, 5, 6, 7]],
      ['an attribute beside', { color: 'red' }, [0, 1, 2, 3, 4, 5]],
      ['an attribute nested', { attributes: { color: 'red' } }, [0, 1, 2, 3, 4, 5]],
      ['an attribute both', { color: 'blue', attributes: { color: 'blue' } }, [6]],
      ['two attributes', { color: 'red', attributes: { year: 2025 } }, [4, 5]],
      ['two attributes that no code has', { color: 'blue', year: 2025 }, []],
      ['an attribute and an extension', { color: 'red', country: 'UK' }, [3, 5]],
      ['an attribute and all extensions', { year: 2024, country: 'FR', size: 10, new: false }, [1]],
      ['an attribute that no code has', { color: 'green' }, []],
      ['attributes beside a code are ignored', { code: 'B', color: 'blue', year: 1 }, [4, 5]],
      [
        'attributes nested beside a code are ignored',
        { code: 'B', attributes: { color: 'blue' } },
        [4, 5],
      ],
      ['whatever their values', { code: 'B', color: 5, attributes: { color: 'x' } }, [4, 5]],
      [
        'beside a fully named row too',
        { code: 'B', country: 'FR', size: 9, new: false, color: 'x' },
        [4],
      ],
      ['a code that is not in the list', { code: 'C' }, []],
      ['an extension value that is not in the list', { code: 'A', size: 7 }, []],
      ['codes are compared code point by code point', { code: 'É' }, [7]],
    ]
    for (const [name, row, prices] of table)
      await t.test(name, async (t) => t.strictSame(await read(shop, row), prices))
    await t.test('rows of all kinds in one payload, in payload order', async (t) => {
      const rows = table.map(([, row]) => row)
      t.strictSame(
        await read(shop, ...rows),
        table.flatMap(([, , prices]) => prices),
      )
    })
  },
)

t.test(
  'an output row has the concrete code and extensions, with their types, beside the input keys',
  async (t) => {
    const shop = await aWideShop(t)
    const row = { extensions: { size: 100 }, attributes: { color: 'red' } }
    const { body } = await shop.post(path, { price_list_name: 'L', payload: [row] })
    const { price_list_id, extended_catalog_id, pk, ...rest } = body[0]
    t.equal(body.length, 1)
    t.strictSame(rest, {
      ...row,
      code: 'B',
      country: 'UK',
      size: 100,
      new: true,
      price_list_name: 'L',
      active_price: 5,
      promotions: [],
    })
  },
)

t.test('equal input rows each give theirs', async (t) => {
  const shop = await aWideShop(t)
  t.strictSame(await read(shop, { code: 'B' }, { code: 'a' }, { code: 'B' }), [4, 5, 6, 4, 5])
  t.strictSame(await read(shop, { color: 'blue' }, { color: 'blue' }), [6, 6])
})

t.test('any rows read what a plain search of the list finds', async (t) => {
  const shop = await aWideShop(t)
  const wantedRow = fc.record(
    {
      code: fc.constantFrom('A', 'B', 'a', 'C'),
      country: fc.constantFrom('FR', 'UK', 'DE'),
      size: fc.constantFrom(-1, 7, 9, 10, 100),
      new: fc.boolean(),
      color: fc.constantFrom('red', 'blue', 'green'),
      year: fc.constantFrom(2024, 2025),
    },
    { requiredKeys: [] },
  )
  const find = ({ color, year, ...row }: Record<string, unknown>) => {
    const wanted = Object.entries(row.code === undefined ? { color, year, ...row } : row)
    return inList.flatMap(([code, country, size, isNew], index) => {
      const present: Record<string, unknown> = {
        code,
        country,
        size,
        new: isNew,
        ...attributes[code],
      }
      return wanted.every(([key, value]) => value === undefined || present[key] === value)
        ? index
        : []
    })
  }
  // Few rows that name the same columns, and many that name others.
  for (const maxLength of [8, 60]) {
    const rows = fc.array(wantedRow, { maxLength, size: 'max' })
    const areFound = fc.asyncProperty(rows, async (rows) => {
      t.strictSame(await read(shop, ...rows), rows.flatMap(find))
    })
    await fc.assert(areFound, { numRuns: 40 })
  }
})

t.test('rows may name as many sets of columns as there are', async (t) => {
  const names = Array.from({ length: 13 }, (_, index) => `x${index}`)
  const product = Object.fromEntries(names.map((name) => [name, name]))
  const extensions = names.map((name) => ({ name, type: 'string' }))
  const shop = await aShopOf(t, service, { extensions }, [{ code: 'A', ...product }])
  await aList(shop, { name: 'L' })
  await addProducts(shop, 'L', [{ code: 'A', ...product }])
  const sets = Array.from({ length: 2 ** names.length }, (_, set) =>
    Object.fromEntries(names.filter((_, at) => set & (1 << at)).map((name) => [name, name])),
  )
  t.equal((await read(shop, ...sets)).length, sets.length)
})

t.test('numbers order as numbers, dates as days, false before true', async (t) => {
  const values = {
    number: [-2.5, -1, 0, 0.000001, 9, 10, 1e21],
    date: ['0999-12-31', '2024-02-29', '2026-01-01'],
    boolean: [false, true],
    string: [' ', 'A', 'B', 'a', '\\', 'é', '😀'].sort(),
  }
  for (const [type, sorted] of Object.entries(values)) {
    const products = sorted.toReversed().map((x) => ({ code: 'A', x }))
    const shop = await aShopOf(t, service, { extensions: [{ name: 'x', type }] }, products)
    await aList(shop, { name: 'L' })
    await addProducts(shop, 'L', products)
    for (const row of [{}, { code: 'A' }]) {
      const { body } = await shop.post(path, { price_list_name: 'L', payload: [row] })
      t.strictSame(
        body.map(({ x }: { x: unknown }) => x),
        sorted,
        type,
      )
    }
  }
})

t.test(
  'without extensions a code names its row, and a missing code is the one wildcard',
  async (t) => {
    const products = [{ code: 'B' }, { code: 'A' }]
    const shop = await aShopOf(
      t,
      service,
      { attributes: [{ name: 'color', type: 'string' }] },
      products,
    )
    await aList(shop, { name: 'L' })
    await addProducts(shop, 'L', products)
    const codes = async (...payload: object[]) => {
      const { body } = await shop.post(path, { price_list_name: 'L', payload })
      return body.map(({ code }: { code: string }) => code)
    }
    t.strictSame(await codes({ code: 'B' }, {}, { code: 'C' }), ['B', 'A', 'B'])
    t.strictSame(await codes({ color: 'red' }), [], 'no code has the attribute')
  },
)

t.test('names and values of columns are values, whatever they look like', async (t) => {
  const texts = ['{NULL,"x"}', 'NULL', "'; drop table sales; --", '\\"', 'a\nb', '%_', '{}', '$1']
  const name = 'si"ze\'; --'
  const color = '{"a"}\\'
  const products = texts.map((text) => ({ code: text, [name]: text, [color]: text }))
  const columns = {
    extensions: [{ name, type: 'string' }],
    attributes: [{ name: color, type: 'string' }],
  }
  const shop = await aShopOf(t, service, columns, products)
  await aList(shop, { name: 'L' })
  await addProducts(
    shop,
    'L',
    products.map(({ code, [name]: value }) => ({ code, [name]: value })),
  )
  for (const text of texts)
    for (const row of [{ code: text }, { [name]: text }, { [color]: text }]) {
      const { body } = await shop.post(path, { price_list_name: 'L', payload: [row] })
      t.match(body, [{ code: text, [name]: text }])
      t.equal(body.length, 1)
    }
})

t.test('a read above its limit is refused with the limit and the size', async (t) => {
  const small = await startTestService(t, { READ_ROWS_MAX: '6' })
  const codes = ['A', 'B', 'C']
  const countries = ['FR', 'UK']
  const products = codes.flatMap((code) => countries.map((country) => ({ code, country })))
  const { shop } = await aFilledList(t, small, { codes, countries, price_dimensions: ['x', 'y'] })
  const get = (rows: object[]) =>
    shop.post(path, {
      price_list_name: 'L',
      payload: rows.map((row) => ({ price_dimension: 'x', ...row })),
    })
  t.equal((await get([{}])).body.length, 6, 'the limit itself is allowed')
  const fullyNamed = products.concat(products.slice(0, 1))
  const table: [string, object[], number][] = [
    ['a wildcard and a row', [{}, { code: 'A', country: 'UK' }], 7],
    ['equal wildcards', [{}, {}, {}], 18],
    ['wildcards of other dimensions', [{}, { price_dimension: 'y' }], 12],
    [
      'wildcards of all kinds',
      [{}, { code: 'A' }, { country: 'UK' }, { description: 'about B' }],
      13,
    ],
    ['fully named rows', fullyNamed, 7],
    ['rows that match nothing do not count', [{}, { code: 'X' }, { code: 'A' }], 8],
  ]
  for (const [name, rows, size] of table)
    await t.test(name, async (t) => {
      const response = await get(rows)
      expectProblem(t, response, { status: 400, type: 'result-too-large' })
      t.match(response.body.detail, new RegExp(`at most 6 rows, this one to ${size}\\.`))
    })
})

t.test('rows that name their columns in many ways are answered like each of them', async (t) => {
  const names = ['e0', 'e1', 'e2', 'e3', 'e4', 'e5']
  const extensions = names.map((name) => ({ name, type: 'integer' }))
  const products = Array.from({ length: 10 }, (_, index) => ({
    code: `P${index}`,
    ...Object.fromEntries(names.map((name, at) => [name, (index >> at) % 2])),
  }))
  const shop = await aShopOf(t, service, { extensions }, products)
  await aList(shop, { name: 'L' })
  await addProducts(shop, 'L', products)
  const read = async (payload: object[]) =>
    (await shop.post(path, { price_list_name: 'L', payload })).body
  const payload = Array.from({ length: 64 }, (_, shape) =>
    Object.fromEntries(names.flatMap((name, at) => ((shape >> at) % 2 ? [[name, 1]] : []))),
  )
  const each = []
  for (const row of payload) each.push(...(await read([row])))
  t.equal(each.length, 33)
  t.strictSame(await read(payload), each)
})
