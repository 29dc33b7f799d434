import t, { type Test } from 'tap'
import { aSale } from '../helpers/sales.ts'
import type { TestAccount } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService()
const catalog = '/api/v1/product_catalog/bulk_create_or_update/'
const competitor = '/api/v1/competitor_prices/bulk_create_or_update/'
const agreements = '/api/v1/agreement/bulk_create_or_update'
const promotions = '/api/v1/promotions/bulk_create_or_update/'
const sales = '/api/v1/sales_history/bulk_create_or_update'

type Fault = [line: number, pointer: string, code: string]

const cases: Record<string, [path: string, lines: string[], ...faults: Fault[]][]> = {
  'products are checked against the columns of the account': [
    [catalog, ['code,size', 'A,'], [2, '/0/size', 'required']],
    [catalog, ['code', 'A'], [1, '#/columns/size', 'required']],
    [catalog, ['code,size,colour', 'A,1,red'], [1, '#/columns/colour', 'unknown_key']],
    [catalog, ['code,size', 'A,x', 'B,1.5'], [2, '/0/size', 'type'], [3, '/1/size', 'type']],
    [catalog, ['code,size,cost', 'A,1,-1'], [2, '/0/cost', 'range']],
    [catalog, ['code,size,active', 'A,1,yes'], [2, '/0/active', 'type']],
    [
      catalog,
      ['code,size,about', 'A,1,x', 'B,1,x', 'A,2,', 'A,3,y', 'B,2,x', 'A,4,z'],
      [5, '/3/about', 'duplicate_row'],
      [7, '/5/about', 'duplicate_row'],
    ],
    [catalog, ['code,size,about', 'A,1,', 'A,2,x', 'A,3,y'], [4, '/2/about', 'duplicate_row']],
    [
      catalog,
      ['code,size,about', 'A,1,x', 'A,2,y', 'A,2,y'],
      [3, '/1/about', 'duplicate_row'],
      [4, '/2/about', 'duplicate_row'],
    ],
    [catalog, ['code,size,cost', 'A,1,1', 'A,1,2'], [3, '/1', 'duplicate_row']],
  ],
  'competitor prices are checked against their schema': [
    [
      competitor,
      ['code,competitor_name,competitor_price', 'A,X,1'],
      [1, '#/columns/size', 'required'],
    ],
    [
      competitor,
      ['code,size,competitor_name,competitor_price', 'A,x,X,1', 'A,1,X,x', 'A,1,X,2', 'A,1,X,3'],
      [2, '/0/size', 'format'],
      [3, '/1/competitor_price', 'type'],
      [5, '/3', 'duplicate_row'],
    ],
    [
      competitor,
      ['code,size,competitor_name,competitor_price,departure_date', 'A,1,X,1,2026-01-01'],
      [2, '/0/departure_date', 'not_allowed'],
    ],
  ],
  'an empty cell leaves its key out, but for a text of any kind': [
    [
      sales,
      ['transaction_id,code,extension,quantity,revenue', 'T,A,,,'],
      [2, '/0/quantity', 'required'],
      [2, '/0/revenue', 'required'],
    ],
    [
      promotions,
      ['name,kind,value,valid_from,valid_to', 'P,,1,,'],
      [2, '/0/kind', 'required'],
      [2, '/0/valid_from', 'required'],
      [2, '/0/valid_to', 'required'],
    ],
  ],
  'agreements have columns for what is in their objects': [
    [
      agreements,
      ['name,client_code,price_list_code,price_line.a,prices.p', 'N,C,L,,1', 'N,C,L,A,x'],
      [2, '/0/price_line', 'required'],
      [3, '/1/prices/p', 'type'],
    ],
    [
      agreements,
      [
        'name,client_code,price_list_code,price_line,prices',
        'N,C,L,{},1',
        'N,C,L,"{""a"":1}","{""p"":1}"',
        'M,C,L,"{""a"":1},{""b"":2}","{""p"":1}"',
      ],
      [2, '/0/price_line', 'length'],
      [2, '/0/prices', 'type'],
      [4, '/2/price_line', 'type'],
    ],
    [
      agreements,
      ['name,client_code,price_list_code,price_line.a,prices.p.2026-02-30', 'N,C,L,A,1'],
      [2, '/0/prices/p/2026-02-30', 'format'],
    ],
    [
      agreements,
      [
        'name,client_code,price_list_code,price_line.a,prices.p,prices.p.2026-07-01,price_line',
        'N,C,L,A,5,7,',
        'N,C,L,A,,7,"{""b"":1}"',
      ],
      [2, '/0', 'malformed_row'],
      [3, '/1', 'malformed_row'],
    ],
    [
      agreements,
      ['name,client_code,price_list_code,price_line,price_line.a,prices.p', 'N,C,L,junk,x,5'],
      [2, '/0', 'malformed_row'],
    ],
    [
      agreements,
      ['name,client_code,price_list_code,price_line.a,prices.p.2026-07-01,prices.p', 'N,C,L,x,5,7'],
      [2, '/0', 'malformed_row'],
    ],
  ],
  'promotions are checked against lists and columns': [
    [
      promotions,
      [
        'name,kind,value,valid_from,valid_to,price_lists,product_filters',
        'P,percentage,101,2026-01-02,2026-01-01,,"{""colour"":[""red""]}"',
        'Q,amount,1,2026-01-01,2026-01-01,"[""none""]",',
      ],
      [2, '/0/value', 'range'],
      [2, '/0/valid_to', 'range'],
      [2, '/0/product_filters/colour', 'unknown_column'],
      [3, '/1/price_lists/0', 'unknown_price_list'],
    ],
    [
      promotions,
      [
        'name,kind,value,valid_from,valid_to,price_lists',
        'P,amount,1,2026-01-01,2026-01-01,"[""none""]"',
        'Q,amount,1,2026-01-01,2026-01-01,',
        'P,amount,1,2026-01-01,2026-01-01,"[""none""]"',
      ],
      [2, '/0/price_lists/0', 'unknown_price_list'],
      [4, '/2/price_lists/0', 'unknown_price_list'],
    ],
    [
      promotions,
      [
        'name,kind,value,valid_from,valid_to,price_lists',
        'P,amount,1,2026-01-01,2026-01-01,"[""none"",""other""]"',
      ],
      [2, '/0/price_lists/0', 'unknown_price_list'],
      [2, '/0/price_lists/1', 'unknown_price_list'],
    ],
  ],
}

for (const [rule, files] of Object.entries(cases)) {
  t.test(rule, async (t) => {
    const account = await anAccount(t)
    for (const [path, lines, ...faults] of files) {
      const file = lines.join('\r\n')
      const { status, body } = await account.send('POST', path, file, {
        'content-type': 'text/csv',
      })
      t.equal(status, 400, file)
      t.strictSame(
        body.errors.map(({ line, pointer, code }: Record<string, unknown>) => [
          line,
          pointer,
          code,
        ]),
        faults,
        file,
      )
      const read = path.replace(/bulk_create_or_update\/?$/, '')
      t.equal((await account.get(read)).body.count, 0, 'nothing was written')
    }
  })
}

t.test('columns of one place are for rows that fill one of them', async (t) => {
  const account = await anAccount(t)
  const header = 'name,client_code,price_list_code,price_line.a,prices.p,prices.p.2026-07-01'
  const send = (...rows: string[]) =>
    account.send('POST', agreements, [header, ...rows].join('\n'), { 'content-type': 'text/csv' })
  t.match(await send('N,C,L,A,5,', 'M,C,L,A,,7'), { status: 200, body: { created: 2 } })
  const { body } = await send('N,C,L,A,5,7')
  t.match(body.errors[0].message, 'prices.p.2026-07-01: another column of the row says it, too')
})

t.test('attributes of one code may stand in different rows of a file', async (t) => {
  const account = await anAccount(t)
  const file = 'code,size,about,rank,cost\nA,1,x,,1.5\nA,2,,7,\nB,1,,,\n'
  const answer = await account.send('POST', catalog, file, { 'content-type': 'text/csv' })
  t.match(answer, { status: 200, body: { rows: 3, created: 3, updated: 0 } })
  const { body } = await account.get('/api/v1/product_catalog/')
  t.match(body.results, [
    { code: 'A', size: 1, about: 'x', rank: 7, cost: 1.5 },
    { code: 'A', size: 2, about: 'x', rank: 7 },
    { code: 'B', size: 1 },
  ])
  const update = 'code,size,rank\nA,1,8\n'
  t.match(await account.send('POST', catalog, update, { 'content-type': 'text/csv' }), {
    body: { created: 0, updated: 1 },
  })
  const [first] = (await account.get('/api/v1/product_catalog/')).body.results
  t.match(first, { about: 'x', rank: 8, cost: 1.5 }, 'what the file leaves out stays')
})

t.test('a column whose name needs escaping in a pointer is named by its name', async (t) => {
  const account = await service.newAccount(t)
  const name = 'a/b~c'
  await account.post('/api/v1/product_catalog/schema/create_schema/', {
    attributes: [{ name, type: 'string' }],
    extensions: [{ name: 'size', type: 'integer' }],
  })
  const products = [1, 2].map((size) => ({ code: 'A', size, [name]: `of ${size}` }))
  const { body: json } = await account.post(catalog, products)
  const file = `code,size,${name}\nA,1,of 1\nA,2,of 2\n`
  const type = { 'content-type': 'text/csv' }
  const { body: csv } = await account.send('POST', catalog, file, type)
  const place = { pointer: '/1/a~1b~0c', row: 1, field: name, code: 'duplicate_row' }
  for (const { errors } of [json, csv]) t.match(errors, [place])
  const back = await account.send('POST', catalog, file, { ...type, accept: 'text/csv' })
  t.match(back.body, `${name}: lines 2 and 3 give code`)
})

t.test('JSON in a cell is held to the rules of a JSON body', async (t) => {
  const account = await anAccount(t)
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
  const cells = {
    '["\\u0000"]': /NUL/,
    '["\\ud800"]': /lone surrogate/,
    '{"a\\u0000":"b"}': /NUL/,
    '{"a":1,"a":2}': /same key twice/,
    '{"__proto__":1}': /__proto__/,
    [deep]: /32/,
    '"\\u0000"': /NUL/,
  }
  const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`
  for (const [cell, message] of Object.entries(cells)) {
    const files: [path: string, column: string, file: string][] = [
      [
        agreements,
        'price_line',
        `name,client_code,price_list_code,prices.p,price_line\nN,C,L,1,${quoted(cell)}\n`,
      ],
      [
        promotions,
        'product_filters',
        `name,kind,value,valid_from,valid_to,product_filters\nP,amount,1,2026-01-01,2026-01-02,${quoted(cell)}\n`,
      ],
    ]
    for (const [path, column, file] of files) {
      const answer = await account.send('POST', path, file, { 'content-type': 'text/csv' })
      t.match(answer, { status: 400 }, cell.slice(0, 50))
      const [error] = answer.body.errors
      t.match(error, { line: 2, pointer: '/0', code: 'malformed_row', message }, column)
      t.match(error.message, new RegExp(`^${column}: `))
    }
  }
})

t.test('a column is a key of its row and of no other object', async (t) => {
  const account = await anAccount(t)
  const send = (name: string) => {
    const file = `name,client_code,price_list_code,price_line.a,${name}\nN,C,L,A,1\n`
    return account.send('POST', agreements, file, { 'content-type': 'text/csv' })
  }
  for (const name of ['prices.__proto__', 'prices.__proto__.2026-11-27', 'price_line.__proto__'])
    t.match(await send(name), { status: 400, body: { errors: [{ code: 'unknown_key' }] } }, name)
  t.equal((await send('prices.constructor.2026-11-27')).status, 200)
  t.same(Reflect.get({}, '2026-11-27'), undefined)
  t.same(Reflect.get(Object, '2026-11-27'), undefined)
  const [{ prices }] = (await account.get('/api/v1/agreement/')).body.results
  t.equal(JSON.stringify(prices), '{"constructor":{"2026-11-27":1}}')
})

t.test('a column that is called like what every object has is read by its own type', async (t) => {
  const account = await service.newAccount(t)
  await account.post('/api/v1/product_catalog/schema/create_schema/', {
    extensions: [{ name: 'valueOf', type: 'integer' }],
  })
  const file = 'code,valueOf\nA,7\n'
  const answer = await account.send('POST', catalog, file, { 'content-type': 'text/csv' })
  t.match(answer, { status: 200, body: { created: 1 } })
  t.match((await account.get('/api/v1/product_catalog/')).body.results, [{ valueOf: 7 }])
})

t.test('no column stands for another of which its name begins with the name', async (t) => {
  const account = await service.newAccount(t)
  await account.post('/api/v1/product_catalog/schema/create_schema/', {
    attributes: [{ name: 'country.code', type: 'string' }],
    extensions: [{ name: 'country', type: 'string' }],
  })
  const send = (file: string) => account.send('POST', catalog, file, { 'content-type': 'text/csv' })
  const missing = [{ line: 1, pointer: '#/columns/country', code: 'required' }]
  for (const rows of ['', 'A,GB\n'])
    t.match(await send(`code,country.code\n${rows}`), { status: 400, body: { errors: missing } })
  t.match(await send('code,country.code,country\nA,GB,UK\n'), { body: { created: 1 } })
})

t.test('a spreadsheet may write the booleans of competitor prices its own way', async (t) => {
  const account = await service.newAccount(t)
  await account.post('/api/v1/product_catalog/schema/create_schema/', {
    extensions: [{ name: 'kept', type: 'boolean' }],
    attributes: [{ name: 'about', type: 'string' }],
  })
  const attributes_config = ['code', 'kept', 'about']
  await account.post('/api/v1/competitor_prices/schema/create_schema/', { attributes_config })
  const file = (...kept: string[]) =>
    ['code,kept,about,competitor_name,competitor_price']
      .concat(kept.map((cell, index) => `${index},${cell},TRUE,X,1`))
      .join('\n')
  const type = { 'content-type': 'text/csv' }
  const answer = await account.send('POST', competitor, file('TRUE', 'False', 'true'), type)
  t.match(answer, { status: 201, body: { created: 3 } })
  const { body } = await account.get('/api/v1/competitor_prices/')
  t.strictSame(
    body.results.map(({ kept, about }: Record<string, string>) => [kept, about]),
    [
      ['true', 'TRUE'],
      ['false', 'TRUE'],
      ['true', 'TRUE'],
    ],
  )
  const refused = await account.send('POST', competitor, file('yes', '1'), type)
  const fault = { pointer: '/0/kept', code: 'format', message: 'must be "true" or "false"' }
  t.match(refused.body.errors, [fault, { ...fault, pointer: '/1/kept' }])
})

t.test('competitor prices without a schema are a conflict', async (t) => {
  const account = await service.newAccount(t)
  const file = 'competitor_name,competitor_price\nX,1\n'
  const answer = await account.send('POST', competitor, file, { 'content-type': 'text/csv' })
  t.match(answer, { status: 409, body: { type: 'no-competitor-schema' } })
})

t.test('all errors of a file are counted, the first 1,000 are listed', async (t) => {
  const account = await service.newAccount(t)
  const unknown = Object.fromEntries(Array.from({ length: 200 }, (_, key) => [`k${key}`, 1]))
  const lines = Array.from({ length: 1000 }, (_, row) =>
    JSON.stringify(aSale({ transaction_id: `T${row}`, ...unknown })),
  )
  const headers = { 'content-type': 'application/x-ndjson' }
  const { status, body } = await account.send('POST', sales, `${lines.join('\n')}\n`, headers)
  t.equal(status, 400)
  t.strictSame([body.error_count, body.errors.length], [200_000, 1000])
  t.match(body.errors[999], { line: 5, pointer: '/4/k199', code: 'unknown_key' })
})

async function anAccount(t: Test): Promise<TestAccount> {
  const account = await service.newAccount(t)
  await account.post('/api/v1/product_catalog/schema/create_schema/', {
    attributes: [
      { name: 'about', type: 'string' },
      { name: 'rank', type: 'integer' },
    ],
    extensions: [{ name: 'size', type: 'integer' }],
    costs: [{ name: 'cost' }],
  })
  const attributes_config = ['code', 'size']
  await account.post('/api/v1/competitor_prices/schema/create_schema/', { attributes_config })
  return account
}

t.test('more than 10,000 columns are refused, as are so many keys in a JSON body', async (t) => {
  const account = await service.newAccount(t)
  const send = (columns: number) => {
    const names = Array.from({ length: columns - 4 }, (_, index) => `prices.d${index}`)
    const header = ['name,client_code,price_list_code,price_line.a', ...names].join(',')
    const file = `${header}\nN,C,L,x${',1'.repeat(names.length)}\n`
    return account.send('POST', agreements, file, { 'content-type': 'text/csv' })
  }
  t.match(await send(10_001), { status: 400, body: { type: 'malformed-file' } })
  t.equal((await send(10_000)).status, 200)
})
