import t, { type Test } from 'tap'
import type { TestResponse } from '../helpers/conformant.ts'
import { salesOf } from '../helpers/sales.ts'
import type { TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aFilledList, aList, aShop, rowsOf, setPrices } from '../helpers/shop.ts'

const service = await sharedService()
const csv = 'text/csv'
const ndjson = 'application/x-ndjson'

const changed = (was: string, says: string, part: string, id: string | number = '\\d+') =>
  new RegExp(`^${id} has ${part} "${was}", this row "${says}": a spreadsheet may have changed it$`)

interface Resource {
  /** Where files go, and where they come from. */
  load: string
  read: string
  /** A row with `key` in what identifies it. */
  row: (key: string) => Record<string, unknown>
  /** The ids of exported rows, the first of them first. */
  ids: string[]
  part: string
}

const resources: Record<string, Resource> = {
  products: {
    load: '/api/v1/product_catalog/bulk_create_or_update/',
    read: '/api/v1/product_catalog/',
    row: (code) => ({ code, country: 'UK' }),
    ids: ['extended_catalog_id'],
    part: 'code',
  },
  'extensions of products': {
    load: '/api/v1/product_catalog/bulk_create_or_update/',
    read: '/api/v1/product_catalog/',
    row: (country) => ({ code: 'A', country }),
    ids: ['extended_catalog_id'],
    part: 'country',
  },
  sales: {
    load: '/api/v1/sales_history/bulk_create_or_update',
    read: '/api/v1/sales_history/',
    row: (transaction_id) => ({
      transaction_id,
      code: 'A',
      extension: '',
      quantity: '1',
      revenue: '2',
    }),
    ids: ['id'],
    part: 'transaction_id',
  },
  'competitor prices': {
    load: '/api/v1/competitor_prices/bulk_create_or_update/',
    read: '/api/v1/competitor_prices/',
    row: (code) => ({ code, competitor_name: 'X', competitor_price: 1 }),
    ids: ['hash', 'id'],
    part: 'code',
  },
  agreements: {
    load: '/api/v1/agreement/bulk_create_or_update',
    read: '/api/v1/agreement/',
    row: (client_code) => ({
      name: 'N',
      client_code,
      price_list_code: 'L',
      price_line: { product_code: 'A' },
      prices: { retail: 1 },
    }),
    ids: ['id'],
    part: 'client_code',
  },
  promotions: {
    load: '/api/v1/promotions/bulk_create_or_update/',
    read: '/api/v1/promotions/',
    row: (name) => ({
      name,
      kind: 'amount',
      value: 1,
      valid_from: '2026-01-01',
      valid_to: '2026-01-02',
    }),
    ids: ['id'],
    part: 'name',
  },
}

const send = (account: TestAccount, path: string, file: string, type = csv, headers = {}) =>
  account.send('POST', path, file, { 'content-type': type, ...headers })
const exported = async (account: TestAccount, path: string, type = csv): Promise<string> =>
  (await account.send('GET', path, undefined, { accept: type })).body
const lineOf = (row: object) => `${JSON.stringify(row)}\n`

async function anAccount(t: Test): Promise<TestAccount> {
  const account = await aShop(t, service, { codes: [], countries: [] })
  const attributes_config = ['code']
  await account.post('/api/v1/competitor_prices/schema/create_schema/', { attributes_config })
  return account
}

/** Rows of one call get their ids in the order of their keys. */
async function loadInOrder(account: TestAccount, load: string, rows: object[]) {
  for (const row of rows) await account.post(load, [row])
}

function expectChanged(t: Test, { status, body }: TestResponse, expected: object[], name = '') {
  const { errors = [], error_count } = body
  t.equal(status, 400, name)
  t.equal(error_count, expected.length, name)
  t.match(
    errors,
    expected.map((error) => ({ code: 'key_changed', ...error })),
    name,
  )
}

for (const [name, { load, read, row, ids, part }] of Object.entries(resources)) {
  const [id = ''] = ids
  for (const type of [csv, ndjson]) {
    t.test(
      `${name}, ${type}: a row whose key was changed is refused, the file whole`,
      async (t) => {
        const account = await anAccount(t)
        await loadInOrder(account, load, [row('00123'), row('1E5'), row('B')])
        const file = await exported(account, read, type)
        const unchanged = await send(account, load, file, type)
        t.match(unchanged.body, { rows: 3, created: 0, updated: 3 }, 'as it was it is loaded')
        const before = (await account.get(read)).body
        const opened = file.replace('00123', '123').replace('1E5', '100000')
        const answer = await send(account, load, opened, type)
        const line = type === csv ? 2 : 1
        expectChanged(t, answer, [
          { row: 0, line, field: id, pointer: `/0/${id}` },
          { row: 1, line: line + 1, field: id },
        ])
        const shown = id === 'hash' ? '[0-9a-f]{64}' : before.results[0][id]
        t.match(answer.body.errors[0].message, changed('00123', '123', part, shown))
        t.strictSame((await account.get(read)).body, before, 'nothing was written')
      },
    )
  }

  t.test(`${name}: rows of changed keys are given back`, async (t) => {
    const account = await anAccount(t)
    await loadInOrder(account, load, [row('00123'), row('A')])
    const file = await exported(account, read)
    const answer = await send(account, load, file.replace('00123', '123'), csv, { accept: csv })
    t.equal(answer.status, 400)
    const [header = '', first = '', rest] = answer.body.split('\r\n')
    t.match(header, /,error$/)
    t.match(first, `${id}: `)
    t.match(first, '""00123"", this row ""123""')
    t.equal(rest, '', 'the sound row is not')
    const mended = answer.body.replace(/,123,/, ',00123,')
    t.match((await send(account, load, mended)).body, { created: 0, updated: 1 })
  })

  t.test(`${name}: each of the ids is looked at where it stands alone`, async (t) => {
    const account = await anAccount(t)
    await account.post(load, [row('00123')])
    const [stored] = (await account.get(read)).body.results
    for (const field of ids) {
      const answer = await send(
        account,
        load,
        lineOf({ ...row('123'), [field]: stored[field] }),
        ndjson,
      )
      expectChanged(t, answer, [{ field, message: changed('00123', '123', part, '[^ ]+') }])
    }
  })

  t.test(`${name}: two rows that changed their keys are refused`, async (t) => {
    const account = await anAccount(t)
    await loadInOrder(account, load, [row('A'), row('B')])
    const stored: Record<string, unknown>[] = (await account.get(read)).body.results
    const swapped = ['B', 'A'].map((key, index) =>
      lineOf({ ...row(key), [id]: stored[index]?.[id] }),
    )
    const answer = await send(account, load, swapped.join(''), ndjson)
    expectChanged(t, answer, [{ row: 0 }, { row: 1 }])
  })

  t.test(`${name}: an empty id is none`, async (t) => {
    const account = await anAccount(t)
    await account.post(load, [row('A')])
    const [header = '', line = ''] = (await exported(account, read)).split('\r\n')
    const places = header.split(',').flatMap((column, place) => (ids.includes(column) ? place : []))
    const without = line.split(',').map((cell, place) => (places.includes(place) ? '' : cell))
    const file = [header, without.join(',').replace('A', 'C')].join('\n')
    t.match(await send(account, load, file), { body: { rows: 1, created: 1 } })
    const nulls = Object.fromEntries(ids.map((name) => [name, null]))
    const rows = lineOf({ ...row('D'), ...nulls }) + lineOf(row('E'))
    t.match(await send(account, load, rows, ndjson), { body: { rows: 2, created: 2 } })
  })

  t.test(`${name}: what is no id is refused`, async (t) => {
    const account = await anAccount(t)
    const [header = '', line = ''] = [Object.keys(row('A')), Object.values(row('A'))].map(
      (fields) =>
        fields
          .map((field) => (typeof field === 'object' ? JSON.stringify(field) : String(field)))
          .map((field) => `"${field.replaceAll('"', '""')}"`)
          .join(','),
    )
    const bad = ['1.2E+05', 'abc', '-1', '0', '1.5', ' 1', '"1,000"', '9007199254740993']
    const number = ids.find((name) => name !== 'hash')
    for (const cell of number ? bad : []) {
      const { status, body } = await send(account, load, `${number},${header}\n${cell},${line}\n`)
      t.match(
        { status, body },
        {
          status: 400,
          body: { error_count: 1, errors: [{ code: 'type', pointer: `/0/${number}` }] },
        },
        cell,
      )
    }
    for (const value of ['1', true, 1.5, -1, 0, [], {}, 1e300]) {
      const { body } = await send(
        account,
        load,
        lineOf({ ...row('A'), [number ?? '']: value }),
        ndjson,
      )
      t.match(body, { error_count: 1, errors: [{ code: 'type', line: 1, field: number }] })
    }
    t.equal((await account.get(read)).body.count, 0)
    const float = await send(account, load, `${number},${header}\n"17.0",${line}\n`)
    t.match(float, { body: { created: 1 } }, 'as programs write it whose column has gaps')
  })

  t.test(`${name}: in a JSON body an id is an unknown key`, async (t) => {
    const account = await anAccount(t)
    await account.post(load, [row('A')])
    const [stored] = (await account.get(read)).body.results
    for (const field of ids) {
      const { status, body } = await account.post(load, [{ ...row('A'), [field]: stored[field] }])
      const errors = [{ pointer: `/0/${field}`, code: 'unknown_key' }]
      t.match({ status, body }, { status: 400, body: { error_count: 1, errors } })
    }
  })

  t.test(`${name}: an id of another account is one that is not there`, async (t) => {
    const [owner, other] = [await anAccount(t), await anAccount(t)]
    await owner.post(load, [row('A')])
    const [stored] = (await owner.get(read)).body.results
    const number = ids.at(-1) ?? ''
    for (const [key, given] of [
      ['B', stored[number]],
      ['C', 2 ** 53 - 1],
    ]) {
      const answer = await send(other, load, lineOf({ ...row(key), [number]: given }), ndjson)
      t.match(answer.body, { rows: 1, created: 1, updated: 0 })
    }
    t.equal((await owner.get(read)).body.count, 1)
  })
}

t.test('a hash is checked whether or not there is such an entry', async (t) => {
  const [account, other] = [await anAccount(t), await anAccount(t)]
  const { load, read, row } = resources['competitor prices'] as Resource
  await other.post(load, [row('00123')])
  const [{ hash }] = (await other.get(read)).body.results
  const message = 'does not belong to the key of this row: one of them was changed'
  for (const given of [hash, hash.toUpperCase(), hash.slice(1), '7', `${hash}0`]) {
    const answer = await send(account, load, lineOf({ ...row('123'), hash: given }), ndjson)
    expectChanged(t, answer, [{ field: 'hash', message }], given)
  }
  const number = await send(account, load, lineOf({ ...row('123'), hash: 7 }), ndjson)
  t.match(number.body, { error_count: 1, errors: [{ field: 'hash', code: 'type' }] })
  t.equal((await account.get(read)).body.count, 0)
  const sound = await send(account, load, lineOf({ ...row('00123'), hash }), ndjson)
  t.match(sound.body, { created: 1 }, 'clients can compute it')
})

t.test('a day that came or went is a changed key', async (t) => {
  const account = await service.newAccount(t)
  const { load, read, row } = resources['competitor prices'] as Resource
  await account.post('/api/v1/product_catalog/schema/create_schema/', {})
  const schema = { attributes_config: ['code'], is_dated: true }
  await account.post('/api/v1/competitor_prices/schema/create_schema/', schema)
  await account.post(load, [{ ...row('A'), departure_date: '2026-07-01' }])
  const [{ id }] = (await account.get(read)).body.results
  const answer = await send(account, load, lineOf({ ...row('A'), id }), ndjson)
  const message = `${id} has departure_date "2026-07-01", this row none: a spreadsheet may have changed it`
  expectChanged(t, answer, [{ field: 'id', message }])
})

t.test('what tells agreements apart is looked at as it is kept', async (t) => {
  const account = await anAccount(t)
  const { load, read, row } = resources.agreements as Resource
  await account.post(load, [{ ...row('C'), price_line: { product_code: '00123', pack: 1 } }])
  const [{ id }] = (await account.get(read)).body.results
  const lineWith = (price_line: object) => lineOf({ ...row('C'), price_line, id })
  const same = await send(account, load, lineWith({ pack: 1, product_code: '00123' }), ndjson)
  t.match(same.body, { updated: 1 })
  for (const line of [
    { product_code: 123, pack: 1 },
    { product_code: '00123', pack: '1' },
  ]) {
    const answer = await send(account, load, lineWith(line), ndjson)
    expectChanged(t, answer, [{ message: /^\d+ has price_line "\{"pack": 1, / }])
  }
})

t.test('long texts are cut in messages', async (t) => {
  const account = await anAccount(t)
  const { load, read, row } = resources.sales as Resource
  await account.post(load, [row('𝄞'.repeat(255))])
  const [{ id }] = (await account.get(read)).body.results
  const answer = await send(account, load, lineOf({ ...row('x'.repeat(81)), id }), ndjson)
  const [was, says] = [`${'𝄞'.repeat(80)}…`, `${'x'.repeat(80)}…`]
  expectChanged(t, answer, [{ message: changed(was, says, 'transaction_id', id) }])
})

t.test('the id of a promotion that was deleted is ignored', async (t) => {
  const account = await anAccount(t)
  const { load, read, row } = resources.promotions as Resource
  await account.post(load, [row('00123')])
  const [{ id }] = (await account.get(read)).body.results
  const file = lineOf({ ...row('123'), id })
  expectChanged(t, await send(account, load, file, ndjson), [{ field: 'id' }])
  await account.send('DELETE', `${read}${id}`)
  t.match(await send(account, load, file, ndjson), { body: { created: 1 } })
})

t.test('rows of one key and several ids are one row', async (t) => {
  const account = await anAccount(t)
  const { load, read, row } = resources.sales as Resource
  await account.post(load, [row('A'), row('B')])
  const [a, b] = (await account.get(read)).body.results
  const file = [{}, { id: a.id }, { id: 2 ** 53 - 1 }].map((id) => lineOf({ ...row('A'), ...id }))
  t.match((await send(account, load, file.join(''), ndjson)).body, { rows: 3, updated: 1 })
  const also = lineOf({ ...row('A'), id: b.id })
  const answer = await send(account, load, file.join('') + also, ndjson)
  expectChanged(t, answer, [{ row: 3, message: changed('B', 'A', 'transaction_id', b.id) }])
})

t.test('changed keys stand among other faults in the order of the file', async (t) => {
  const account = await anAccount(t)
  const { load, read, row } = resources.sales as Resource
  await account.post(load, [row('A'), row('B')])
  const [a, b] = (await account.get(read)).body.results
  const rows = [
    { ...row('C'), id: b.id },
    { ...row('D'), quantity: 'x', id: a.id },
    { ...row('A'), revenue: '3' },
    { ...row('A'), id: a.id },
    { ...row('E'), id: a.id },
  ]
  const { body } = await send(account, load, rows.map(lineOf).join(''), ndjson)
  t.strictSame(
    body.errors.map(({ row, code }: Record<string, unknown>) => [row, code]),
    [
      [0, 'key_changed'],
      [1, 'format'],
      [3, 'duplicate_row'],
      [4, 'key_changed'],
    ],
  )
})

t.test('of many changed keys the first 1,000 are listed, all are counted', async (t) => {
  const account = await anAccount(t)
  const { load, read, row } = resources.sales as Resource
  const keys = Array.from({ length: 12_000 }, (_, index) => `T${String(index).padStart(6, '0')}`)
  await account.post(load, keys.map(row))
  const file = await exported(account, read)
  const before = (await account.get(read)).body
  const { status, body } = await send(account, load, file.replaceAll('T0', 'T'))
  t.strictSame([status, body.error_count, body.errors.length], [400, 12_000, 1000])
  t.strictSame(
    body.errors.map(({ row }: { row: number }) => row),
    Array.from({ length: 1000 }, (_, index) => index),
  )
  t.strictSame((await account.get(read)).body, before)
})

t.test('a job refuses changed keys like a request', async (t) => {
  const account = await anAccount(t)
  const { load, read, row } = resources.sales as Resource
  await account.post(load, [row('00123'), row('B')])
  const file = await exported(account, read)
  const async = { prefer: 'respond-async' }
  const { status, body } = await send(account, load, file.replace('00123', '123'), csv, async)
  t.equal(status, 202)
  const job = await account.finished(body)
  t.match(job, { status: 'failed', errors: [{ line: 2, field: 'id', code: 'key_changed' }] })
  t.match(job.errors[0].message, changed('00123', '123', 'transaction_id'))
  t.equal((await salesOf(account)).length, 2)
  const unchanged = await send(account, load, file, csv, async)
  t.match(await account.finished(unchanged.body), { status: 'done', result: { updated: 2 } })
})

const listFeeds: [path: string, lines: string, values: object][] = [
  ['bulk_update_prices', '', { price: 5 }],
  [
    'bulk_update_dynamic_attributes',
    '?lines=dynamic_attributes',
    { dynamic_attribute_name: 'note', dynamic_attribute_value: 'new' },
  ],
  ['bulk_add_products', '?version=draft', {}],
]

for (const [operation, lines, values] of listFeeds) {
  const load = `/api/v1/prices/${operation}/?price_list_name=list`
  for (const type of [csv, ndjson]) {
    t.test(`${operation}, ${type}: a row with the ids of another product is refused`, async (t) => {
      const { shop, list, rows } = await aPricedList(t)
      const file = await exported(shop, `/api/v1/price_list/${list.id}/rows${lines}`, type)
      t.match(file, '00123')
      const unchanged = await send(shop, load, file, type)
      t.equal(unchanged.status, 201)
      t.match(unchanged.body, { created: 0, updated: rows.length }, 'as it was it is loaded')
      const before = await rowsOf(shop, list)
      const answer = await send(shop, load, file.replace('00123', '123'), type)
      const message = changed('00123', '123', 'code', rows[0]?.pk)
      expectChanged(t, answer, [{ row: 0, field: 'pk', message }])
      t.strictSame(await rowsOf(shop, list), before, 'nothing was written')
    })
  }

  t.test(`${operation}: each of the ids is looked at where it stands alone`, async (t) => {
    const { shop, list, rows } = await aPricedList(t)
    const [{ pk, extended_catalog_id }] = rows as [Row]
    const before = await rowsOf(shop, list)
    const rowWith = (ids: object) => lineOf({ code: '123', country: 'UK', ...values, ...ids })
    for (const [field, id] of Object.entries({ pk, extended_catalog_id })) {
      const answer = await send(shop, load, rowWith({ [field]: id }), ndjson)
      expectChanged(t, answer, [{ field, message: changed('00123', '123', 'code', id) }])
    }
    t.strictSame(await rowsOf(shop, list), before)
    const bad = await send(shop, load, rowWith({ pk: '1', extended_catalog_id: 1.5 }), ndjson)
    const type = { code: 'type' }
    t.match(bad.body, {
      errors: [
        { ...type, pointer: '/0/pk' },
        { ...type, pointer: '/0/extended_catalog_id' },
      ],
    })
    const nobodys = { pk: 2 ** 53 - 1, extended_catalog_id: 2 ** 53 - 1 }
    t.equal((await send(shop, load, rowWith(nobodys), ndjson)).status, 201)
    const foreign = (await aPricedList(t)).rows[0] as Row
    const ids = { pk: foreign.pk, extended_catalog_id: foreign.extended_catalog_id }
    t.equal((await send(shop, load, rowWith(ids), ndjson)).status, 201)
  })

  t.test(
    `${operation}: rows of another list are loaded, if their products are these`,
    async (t) => {
      const { shop, rows } = await aPricedList(t)
      await aList(shop, { name: 'other' })
      const keys = rows.map(({ code, country }) => ({ code, country }))
      await addProducts(shop, 'other', keys)
      const toOther = load.replace(/list$/, 'other')
      const rowsWith = (code = '00123') =>
        rows
          .map(({ pk, extended_catalog_id, ...row }, index) =>
            lineOf({
              pk,
              extended_catalog_id,
              country: row.country,
              ...values,
              code: index === 0 ? code : row.code,
            }),
          )
          .join('')
      t.equal((await send(shop, toOther, rowsWith(), ndjson)).status, 201)
      const answer = await send(shop, toOther, rowsWith('123'), ndjson)
      expectChanged(t, answer, [{ row: 0, field: 'extended_catalog_id' }])
    },
  )

  t.test(`${operation}: the id of a row that was removed from the list is ignored`, async (t) => {
    const { shop, list, rows } = await aPricedList(t)
    const [{ pk }] = rows as [Row]
    const file = lineOf({ code: '123', country: 'UK', ...values, pk })
    expectChanged(t, await send(shop, load, file, ndjson), [{ field: 'pk' }])
    const inactive = [{ code: '00123', country: 'UK', active: false }]
    await shop.post('/api/v1/product_catalog/bulk_create_or_update/', inactive)
    await shop.post('/api/v1/prices/sync_with_catalog/', { price_list_name: 'list' })
    t.equal((await rowsOf(shop, list)).length, rows.length - 1)
    t.equal((await send(shop, load, file, ndjson)).status, 201)
  })
}

t.test('a row that is not in the list says so beside its changed key', async (t) => {
  const { shop, rows } = await aPricedList(t)
  const [{ pk }] = rows as [Row]
  const file = lineOf({ code: '0123', country: 'UK', price: 1, pk })
  const path = '/api/v1/prices/bulk_update_prices/?price_list_name=list'
  const { body } = await send(shop, path, file, ndjson)
  t.match(body, { error_count: 2, errors: [{ code: 'row_not_in_list' }, { code: 'key_changed' }] })
})

interface Row {
  pk: number
  extended_catalog_id: number
  code: string
  country: string
}

/** A list with a price and a dynamic attribute for each of its rows. */
async function aPricedList(t: Test) {
  const codes = ['00123', '123', 'B']
  const { shop, list } = await aFilledList(t, service, { codes, name: 'list' })
  const keys = codes.map((code) => ({ code, country: 'UK' }))
  await setPrices(
    shop,
    'list',
    keys.map((key) => ({ ...key, price: 1 })),
  )
  await shop.post('/api/v1/prices/bulk_update_dynamic_attributes/', {
    price_list_name: 'list',
    payload: keys.map((key) => ({
      ...key,
      dynamic_attribute_name: 'note',
      dynamic_attribute_value: 'x',
    })),
  })
  return { shop, list, rows: (await rowsOf(shop, list)) as Row[] }
}
