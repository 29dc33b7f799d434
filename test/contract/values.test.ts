import { isDeepStrictEqual } from 'node:util'
import pg from 'pg'
import t, { type Test } from 'tap'
import { cloneDatabase, type TestDatabase } from '../helpers/database.ts'
import { type Call, caller, startProcess } from '../helpers/process.ts'
import { jwtSecret } from '../helpers/service.ts'
import { userToken } from '../helpers/user-token.ts'
import { amounts, days, decimals, moments, texts } from '../helpers/values.ts'

const zones = ['UTC', 'Europe/Paris', 'America/St_Johns', 'Pacific/Apia', 'Asia/Kathmandu']
const year = { valid_from: '2026-01-01', valid_to: '2026-12-31' }
const at = <T>(items: readonly T[], index: number): T => items[index % items.length] as T

/** Requests in the name of a new account, whose answers must be good. */
interface Account {
  post: (path: string, body: unknown) => ReturnType<Call>
  get: (path: string) => ReturnType<Call>
  patch: (path: string, body: unknown) => ReturnType<Call>
}

async function newAccount(database: TestDatabase, url: string): Promise<Account> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const { rows } = await client.query(
    'insert into accounts (name) values (gen_random_uuid()) returning id',
  )
  await client.end()
  const secret = new TextEncoder().encode(jwtSecret)
  const call = caller(() => url, await userToken(secret, { id: 1, account: Number(rows[0].id) }))
  const good = async (...[method, path, body]: Parameters<Call>) => {
    const answer = await call(method, `/api/v1/${path}`, body)
    if (answer.status >= 300)
      throw new Error(`${path}: ${JSON.stringify(answer.body).slice(0, 500)}`)
    return answer
  }
  return {
    post: (path, body) => good('POST', path, body),
    get: (path) => good('GET', path),
    patch: (path, body) => good('PATCH', path, body),
  }
}

/** The results of a list without the keys that the service adds. */
async function listed(
  { get }: Account,
  path: string,
  ...added: string[]
): Promise<Record<string, unknown>[]> {
  const { results } = (await get(`${path}${path.includes('?') ? '&' : '?'}limit=1000`)).body
  return results.map((result: Record<string, unknown>) => without(result, ...added))
}

function without(row: Record<string, unknown>, ...keys: string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).filter(([key]) => !keys.includes(key)))
}

const columnTypes = {
  text: 'string',
  whole: 'integer',
  part: 'number',
  flag: 'boolean',
  day: 'date',
}
const wholes = [0, -1, 42, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]

/** One product for each text, its columns filled from the other lists. */
const products = texts.map((code, index) => ({
  code,
  'e text': at(texts, index + 7),
  'e whole': at(wholes, index),
  'e flag': index % 2 === 0,
  'e part': 0 - at(amounts, index + 1),
  'e day': at(days, index),
  cost: at(amounts, index),
  'a text': at(texts, index + 3),
  'a whole': at(wholes, index + 2),
  'a flag': index % 3 === 0,
  'a part': at(amounts, index + 4),
  'a day': at(days, index + 5),
}))
const keys = products.map((product) => {
  const isKey = ([name]: [string, unknown]) => name === 'code' || name.startsWith('e ')
  return Object.fromEntries(Object.entries(product).filter(isKey))
})

/** Names like `constructor` lead the comparison of tap astray. */
function same(t: Test, found: unknown, wanted: unknown, message: string): void {
  t.ok(isDeepStrictEqual(found, wanted), message, { found, wanted })
}

async function catalogValues(t: Test, account: Account): Promise<void> {
  const columns = (prefix: string, values = {}) =>
    Object.entries(columnTypes).map(([name, type]) => ({
      name: `${prefix} ${name}`,
      type,
      ...values,
    }))
  const fixed = { name: 'fixed', type: 'string', values: texts }
  const days_ = { name: 'days', type: 'date', values: days }
  const parts = { name: 'parts', type: 'number', values: amounts }
  const schema = {
    attributes: [...columns('a'), fixed, days_, parts],
    extensions: columns('e'),
    costs: [{ name: 'cost' }],
  }
  await account.post('product_catalog/schema/create_schema/', schema)
  const { attributes } = (await account.get('product_catalog/schema/')).body
  t.strictSame(
    attributes.slice(5).map(({ values }: { values: unknown }) => values),
    [texts, days, amounts],
    'allowed values',
  )
  await account.post('product_catalog/bulk_create_or_update/', products)
  const read = await listed(account, 'product_catalog/', 'extended_catalog_id', 'active')
  const order = (a: Record<string, unknown>, b: Record<string, unknown>) =>
    String(a.code) < String(b.code) ? -1 : 1
  t.strictSame(read.sort(order), [...products].sort(order), 'products')
}

async function listValues(t: Test, account: Account): Promise<void> {
  const lists = texts.map((name, index) => {
    const [valid_from, valid_to] = [at(days, index), at(days, index + 1)].sort()
    return {
      name,
      description: `${name}\n${name}`,
      valid_from,
      valid_to,
      price_dimensions: [name, 'other'],
      product_filters: {
        code: [name],
        'e part': [0 - at(amounts, index)],
        'a day': [at(days, index)],
      },
      hide_unpriced: index % 2 === 0,
      decimals: 6,
      guardrails: { min_price: at(amounts, index), min_margin_percent: 0 - at(amounts, index) },
    }
  })
  const { body: created } = await account.post('price_list/bulk_create/', lists)
  const made = ['id', 'origin', 'is_published', 'revision', 'state']
  const added = [...made, 'is_calendar', 'margin_formula']
  t.strictSame(await listed(account, 'price_list/', ...added), lists, 'price lists')
  for (const [index, { id }] of created.entries()) {
    if (index % 9 === 0)
      t.strictSame(
        without((await account.get(`price_list/${id}`)).body, ...added),
        lists[index],
        'a price list',
      )
  }
}

async function priceValues(t: Test, account: Account): Promise<void> {
  const { body: created } = await account.post('price_list/bulk_create/', [
    { name: 'prices', ...year, price_dimensions: ['a', 'b'] },
  ])
  await account.post('prices/bulk_add_products/', { name: 'prices', payload: keys })
  const priced = keys.map((key, index) => ({
    ...key,
    price_dimension: 'a',
    price: at(amounts, index),
  }))
  const attributes = keys.map((key, index) => ({
    ...key,
    dynamic_attribute_name: at(texts, index + 1),
    dynamic_attribute_value: [
      at(amounts, index),
      at(texts, index),
      { [at(texts, index)]: at(days, index) },
      5e-324,
      1.7976931348623157e308,
    ],
  }))
  await account.post('prices/bulk_update_prices/', { price_list_name: 'prices', payload: priced })
  await account.post('prices/bulk_update_dynamic_attributes/', {
    price_list_name: 'prices',
    payload: attributes,
  })
  const rows = await listed(
    account,
    `price_list/${created[0].id}/rows`,
    'pk',
    'extended_catalog_id',
    'margin',
  )
  const expected = keys.map((key, index) => {
    const { dynamic_attribute_name: name, dynamic_attribute_value: value } = attributes[index] ?? {}
    return {
      ...key,
      prices: { a: priced[index]?.price, b: 0 },
      dynamic_attributes: { [String(name)]: value },
    }
  })
  const byCode = new Map(rows.map((row) => [row.code, row]))
  same(
    t,
    keys.map(({ code }) => byCode.get(code)),
    expected,
    'rows of a list',
  )
  const payload = keys.map((key) => ({ ...key, price_dimension: 'a' }))
  const include = ['base_price', 'dynamic_attributes']
  const { body: read } = await account.post('prices/get_prices/', {
    price_list_name: 'prices',
    include,
    payload,
  })
  const kept = [
    'code',
    'active_price',
    'base_price',
    'dynamic_attributes',
    ...Object.keys(keys[0] ?? {}),
  ]
  const shown = expected.map(({ prices, dynamic_attributes, ...key }) => ({
    ...key,
    active_price: prices.a,
    base_price: prices.a,
    dynamic_attributes,
  }))
  const some = (row: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(row).filter(([key]) => kept.includes(key)))
  same(t, read.map(some), shown, 'prices that are read')
}

async function calendarValues(t: Test, account: Account): Promise<void> {
  const [key] = keys
  for (const [index, valid_from] of days.filter((day) => day < '9998').entries()) {
    const name = `calendar ${index}`
    const { body: created } = await account.post('price_list/bulk_create/', [
      { name, valid_from, valid_to: valid_from, is_calendar: true },
    ])
    await account.post('prices/bulk_add_products/', { name, payload: [key] })
    const last = new Date(Date.parse(`${valid_from}T00:00:00Z`) + 364 * 86_400_000)
      .toISOString()
      .slice(0, 10)
    const payload = [valid_from, last].map((date, place) => ({
      ...key,
      date,
      price: at(amounts, index + place + 1),
    }))
    await account.post('prices/bulk_update_prices/', { price_list_name: name, payload })
    for (const { price: _, ...wanted } of payload) {
      const price = payload.find(({ date }) => date === wanted.date)?.price
      const [row] = (
        await account.post('prices/get_prices/', { price_list_name: name, payload: [wanted] })
      ).body
      t.strictSame(
        [row.date, row.active_price],
        [wanted.date, price],
        `the price of ${wanted.date}`,
      )
      const [shown] = await listed(account, `price_list/${created[0].id}/rows?date=${wanted.date}`)
      t.strictSame(shown?.prices, { price }, `the row of ${wanted.date}`)
    }
  }
}

async function promotionValues(t: Test, account: Account): Promise<void> {
  const promotions = texts.map((name, index) => ({
    name,
    kind: 'fixed_price',
    value: at(amounts, index),
    valid_from: at(days, index),
    valid_to: at(days, index),
    price_lists: ['prices'],
    price_dimensions: ['b', name],
    product_filters: { 'e text': [at(texts, index)], 'e day': [at(days, index)] },
  }))
  await account.post('promotions/bulk_create_or_update/', promotions)
  const read = await listed(account, 'promotions/', 'id')
  const byName = new Map(read.map((one) => [one.name, one]))
  t.strictSame(
    texts.map((name) => byName.get(name)),
    promotions,
    'promotions',
  )
  for (const day of days) {
    const valid = await listed(account, `promotions/?valid_on=${day}`)
    t.strictSame(
      valid.length,
      promotions.filter(({ valid_from }) => valid_from === day).length,
      `valid on ${day}`,
    )
    const set = {
      name: `all on ${day}`,
      kind: 'fixed_price',
      value: 0.000001,
      valid_from: day,
      valid_to: day,
      price_lists: ['prices'],
    }
    await account.post('promotions/bulk_create_or_update/', [set])
    const payload = [{ ...keys[0], price_dimension: 'b', promotion: set.name }]
    const { body } = await account.post('prices/get_prices/', {
      price_list_name: 'prices',
      promotion_date: day,
      payload,
    })
    t.strictSame(body[0].promotions, [{ name: set.name, value: 0.000001 }], `in force on ${day}`)
  }
}

async function salesValues(t: Test, account: Account): Promise<void> {
  const sales = texts.map((transaction_id, index) => ({
    transaction_id,
    code: at(texts, index + 1),
    extension: at(texts, index + 2),
    currency: 'EUR',
    quantity: at(decimals, index),
    revenue: at(decimals, index + 1),
    active_price: at(decimals, index).replace('-', ''),
    price_list_name: transaction_id,
    price_dimension: at(texts, index + 3),
    client_code: at(texts, index + 4),
    agreement_code: at(texts, index + 5),
    departure_date: at(days, index),
    transaction_date: at(moments, index)[0],
  }))
  await account.post('sales_history/bulk_create_or_update', sales)
  const expected = sales.map((sale, index) => ({
    ...sale,
    transaction_date: at(moments, index)[1],
  }))
  const byId = new Map(
    (await listed(account, 'sales_history/', 'id')).map((sale) => [sale.transaction_id, sale]),
  )
  t.strictSame(
    texts.map((id) => byId.get(id)),
    expected,
    'sales',
  )
  for (const day of new Set(moments.map(([, read]) => read.slice(0, 10)))) {
    const found = await listed(account, `sales_history/?from=${day}&to=${day}`)
    const wanted = expected.filter(({ transaction_date }) => transaction_date.startsWith(day))
    t.equal(found.length, wanted.length, `sales of ${day}`)
  }
}

async function competitorValues(t: Test, account: Account): Promise<void> {
  // Observations are not of the future.
  const past = moments.filter(([, read]) => !read.startsWith('9999'))
  const attributes_config = ['code', 'a text', 'e whole', 'e part', 'e flag', 'e day']
  await account.post('competitor_prices/schema/create_schema/', {
    attributes_config,
    is_dated: true,
  })
  const plain = (value: number) =>
    value.toLocaleString('en', { useGrouping: false, maximumFractionDigits: 6 })
  const entries = texts.map((code, index) => ({
    code,
    'a text': at(texts, index + 1),
    'e whole': String(at(wholes, index)),
    'e flag': String(index % 2 === 0),
    'e part': plain(
      at(
        amounts.filter((amount) => amount < 1e15),
        index,
      ),
    ),
    'e day': at(days, index),
    competitor_name: at(texts, index + 2),
    competitor_price: at(amounts, index),
    departure_date: at(days, index + 1),
    latest_update: at(past, index)[0],
  }))
  await account.post('competitor_prices/bulk_create_or_update/', entries)
  const byCode = new Map(
    (await listed(account, 'competitor_prices/', 'id', 'hash')).map((entry) => [entry.code, entry]),
  )
  const expected = entries.map((entry, index) => ({
    ...entry,
    latest_update: at(past, index)[1],
  }))
  t.strictSame(
    texts.map((code) => byCode.get(code)),
    expected,
    'competitor prices',
  )
  const { output } = (await account.get('competitor_prices/schema/')).body
  t.strictSame(
    output,
    { total: texts.length, latest_update: '2026-03-08' },
    'the day of the newest',
  )
}

async function agreementValues(t: Test, account: Account): Promise<void> {
  const agreements = texts.map((name, index) => ({
    name,
    client_code: at(texts, index + 1),
    price_list_code: at(texts, index + 2),
    price_line: {
      [at(texts, index + 3)]: at(texts, index),
      amount: at(amounts, index),
      flag: true,
    },
    prices: {
      [at(texts, index + 4)]: at(amounts, index),
      days: { [at(days, index)]: at(amounts, index + 1) },
    },
  }))
  await account.post('agreement/bulk_create_or_update', agreements)
  const read = (await account.get('agreement/?limit=1000')).body.results
  const byName = new Map<unknown, Record<string, unknown>>(
    read.map((one: { name: string }) => [one.name, one]),
  )
  t.strictSame(
    texts.map((name) => without(byName.get(name) ?? {}, 'id')),
    agreements,
    'agreements',
  )
  for (const [index, day] of days.entries()) {
    const { id, prices } = byName.get(at(texts, index)) as { id: number; prices: object }
    const price = at(amounts, index + 2)
    const { body } = await account.patch(`agreement/${id}`, {
      prices: { patched: { [day]: price } },
    })
    t.strictSame(body.prices, { ...prices, patched: { [day]: price } }, `an agreement on ${day}`)
    t.strictSame((await account.get(`agreement/${id}`)).body, body)
  }
}

const database = await cloneDatabase()
t.teardown(() => database.drop())

for (const zone of zones) {
  t.test(`what is written is what is read in a process in ${zone}`, async (t) => {
    const settings = {
      DATABASE_URL: database.url,
      JWT_SECRET: jwtSecret,
      ROLE: 'api',
      LOG_LEVEL: 'error',
    }
    const service = await startProcess(t, { ...settings, TZ: zone })
    const account = await newAccount(database, service.url)
    for (const values of [
      catalogValues,
      listValues,
      priceValues,
      calendarValues,
      promotionValues,
      salesValues,
      competitorValues,
      agreementValues,
    ])
      await values(t, account)
    t.equal(await service.stop(), 0)
  })
}
