import t from 'tap'
import { operations } from '../../src/contract/document.ts'
import type { TestResponse } from '../helpers/conformant.ts'
import { cloneDatabase, query } from '../helpers/database.ts'
import { openDump } from '../helpers/dump.ts'
import { someCodes } from '../helpers/jobs.ts'
import {
  startServiceOn,
  startTestService,
  type TestAccount,
  type TestService,
} from '../helpers/service.ts'

/** A service whose database lets everybody see everything: what keeps accounts apart are the statements alone. */
async function withoutPolicies(): Promise<TestService> {
  const database = await cloneDatabase()
  await query(
    database.url,
    `do $$ declare name text; begin
       for name in select oid::regclass from pg_class where relnamespace = 'public'::regnamespace and relrowsecurity loop
         execute format('alter table %s disable row level security', name);
       end loop;
     end $$`,
  )
  return startServiceOn(t, database)
}

/** What an account calls its things, and their ids. */
interface Things {
  /** Part of every name; of one length, so that answers can be compared byte by byte. */
  tag: string
  list: number
  agreement: number
  promotion: number
  job: number
  key: number
  user: number
  plan: number
  product: number
  /** The hash of a competitor price. */
  entry: string
}

interface Request {
  method: string
  path: string
  body?: unknown
  headers?: Record<string, string>
}

type Case = [operation: string, place: string, request: (things: Things) => Request]

const year = { valid_from: '2026-01-01', valid_to: '2026-12-31' }
const post = (path: string, body: unknown): Request => ({
  method: 'POST',
  path: `/api/v1/${path}`,
  body,
})
const get = (path: string): Request => ({ method: 'GET', path: `/api/v1/${path}` })

/** Columns, products, a published list with a job, a promotion, a sale, a competitor price and an agreement. */
async function populated(account: TestAccount, tag: string): Promise<Things> {
  const ok = async ({ path, body }: Request) => {
    const answer = await account.post(path, body)
    if (answer.status >= 300) throw new Error(JSON.stringify(answer.body))
    return answer.body
  }
  const [attributes, extensions] = [
    [{ name: `color ${tag}`, type: 'string' }],
    [{ name: `size ${tag}`, type: 'string' }],
  ]
  const products = [`code ${tag}`, ...someCodes(100)].map((code) => ({
    code,
    [`size ${tag}`]: 'S',
    [`color ${tag}`]: 'red',
  }))
  await ok(post('product_catalog/schema/create_schema/', { attributes, extensions }))
  const { created: ids } = await ok(post('product_catalog/bulk_create_or_update/', products))
  const [{ id: list }] = await ok(
    post('price_list/bulk_create/', [{ name: `list ${tag}`, ...year }]),
  )
  const job = await ok(post('prices/sync_with_catalog/', { price_list_name: `list ${tag}` }))
  await account.finished(job)
  const promotion = { name: `promotion ${tag}`, kind: 'amount', value: 1, ...year }
  const { created } = await ok(post('promotions/bulk_create_or_update/', [promotion]))
  const sale = {
    transaction_id: `sale ${tag}`,
    code: `code ${tag}`,
    extension: '',
    quantity: '1',
    revenue: '1',
  }
  await ok(post('sales_history/bulk_create_or_update', [sale]))
  await ok(post('competitor_prices/schema/create_schema/', { attributes_config: ['code'] }))
  const entry = { code: `code ${tag}`, competitor_name: `rival ${tag}`, competitor_price: 1 }
  const hashes = await ok(post('competitor_prices/bulk_create_or_update/', [entry]))
  const agreement = {
    name: `agreement ${tag}`,
    client_code: `client ${tag}`,
    price_list_code: `list ${tag}`,
  }
  await ok(
    post('agreement/bulk_create_or_update', [
      { ...agreement, price_line: { a: 1 }, prices: { a: 1 } },
    ]),
  )
  const { results } = (await account.get('/api/v1/agreement/')).body
  const { id: key } = await ok(post('api_keys/', { name: `key ${tag}`, scopes: ['read'] }))
  // Another account may have no user of this e-mail.
  const email = `${tag}-${account.id}@example.com`
  const { id: user } = await ok(post('users/', { email, scopes: ['read'] }))
  const planned = { code: `code ${tag}`, [`size ${tag}`]: 'S', price: 1 }
  const update = { price_list_name: `list ${tag}`, payload: [planned] }
  const { id: plan } = await ok(post('prices/bulk_update_prices/?plan=true', update))
  const found = { agreement: results[0].id, product: ids[0], entry: hashes.created[0] }
  return { tag, list, ...found, promotion: created[0], job: job.id, key, user, plan }
}

const row = (code: string) => ({ code, 'size own': 'S' })
const rowOf = ({ tag }: Things) => row(`code ${tag}`)
const inOwn = (payload: unknown[]) => ({ price_list_name: 'list own', payload })

const asFile = (request: Request): Request => ({ ...request, headers: { accept: 'text/csv' } })

/** Files for a list that the query names, loaded at once and by a job. */
const filesOfLists = Object.entries({
  addProducts: ['prices/bulk_add_products/', 'code,size own\nP000,S\n'],
  updatePrices: ['prices/bulk_update_prices/', 'code,size own,price\nP000,S,1\n'],
  updateDynamicAttributes: [
    'prices/bulk_update_dynamic_attributes/',
    'code,size own,dynamic_attribute_name,dynamic_attribute_value\nP000,S,a,1\n',
  ],
  removeProducts: ['prices/bulk_remove_products/', 'code,size own\nP000,S\n'],
}).flatMap(([operation, [path, file]]): Case[] =>
  [{}, { prefer: 'respond-async' }].flatMap((prefer): Case[] => {
    const headers = { 'content-type': 'text/csv', ...prefer }
    const place = `of a file${JSON.stringify(prefer)}`
    const upload = (query: string) => ({ ...post(`${path}?${query}`, file), headers })
    return [
      [operation, `price_list_name ${place}`, ({ tag }) => upload(`price_list_name=list%20${tag}`)],
      [operation, `price_list_id ${place}`, ({ list }) => upload(`price_list_id=${list}`)],
    ]
  }),
)

/** Every place of a request that names something which an account has. */
const cases: Case[] = [
  ['readPriceList', 'path', ({ list }) => get(`price_list/${list}`)],
  ['listPriceListRows', 'path', ({ list }) => get(`price_list/${list}/rows`)],
  ['listRevisions', 'path', ({ list }) => get(`price_list/${list}/revisions/`)],
  ['readRevision', 'path', ({ list }) => get(`price_list/${list}/revisions/1`)],
  ['diffPriceList', 'path', ({ list }) => get(`price_list/${list}/diff/?from=0`)],
  [
    'revertPriceList',
    'path',
    ({ list }) => post(`price_list/${list}/revert/`, { to_revision: 1, on_conflict: 'skip' }),
  ],
  ['listPlans', 'price_list_id', ({ list }) => get(`plans/?price_list_id=${list}`)],
  ['readPlan', 'path', ({ plan }) => get(`plans/${plan}/`)],
  ['listPlanRows', 'path', ({ plan }) => get(`plans/${plan}/rows/`)],
  ['discardPlan', 'path', ({ plan }) => ({ ...get(`plans/${plan}/`), method: 'DELETE' })],
  ['applyPlan', 'path', ({ plan }) => post(`plans/${plan}/apply/`, {})],
  ['listChanges', 'path', ({ list }) => get(`price_list/${list}/changes/?after=0`)],
  [
    'getPriceHistory',
    'price_list_name',
    ({ tag }) => post('prices/get_price_history/', { price_list_name: `list ${tag}`, payload: [] }),
  ],
  [
    'getPriceHistory',
    'price_list_id',
    ({ list }) => post('prices/get_price_history/', { price_list_id: list, payload: [] }),
  ],
  ['readAgreement', 'path', ({ agreement }) => get(`agreement/${agreement}`)],
  [
    'updateAgreement',
    'path',
    ({ agreement }) => ({
      method: 'PATCH',
      path: `/api/v1/agreement/${agreement}`,
      body: { prices: { a: 2 } },
    }),
  ],
  ['readJob', 'path', ({ job }) => get(`jobs/${job}/`)],
  ['readJobEvents', 'path', ({ job }) => get(`jobs/${job}/events/`)],
  ['cancelJob', 'path', ({ job }) => post(`jobs/${job}/cancel/`, undefined)],
  ['listProducts', 'code', ({ tag }) => get(`product_catalog/?code=code%20${tag}`)],
  ['listPriceLists', 'name', ({ tag }) => get(`price_list/?name=list%20${tag}`)],
  ['listPromotions', 'name', ({ tag }) => get(`promotions/?name=promotion%20${tag}`)],
  ['listSales', 'code', ({ tag }) => get(`sales_history/?code=code%20${tag}`)],
  ['listSales', 'transaction_id', ({ tag }) => get(`sales_history/?transaction_id=sale%20${tag}`)],
  ['listCompetitorPrices', 'code', ({ tag }) => get(`competitor_prices/?code=code%20${tag}`)],
  ['listProducts', 'code_prefix', ({ tag }) => get(`product_catalog/?code_prefix=code%20${tag}`)],
  ['listPriceLists', 'search', ({ tag }) => get(`price_list/?search=list%20${tag}`)],
  ...(
    [
      ['listPriceListRows', ({ list }) => get(`price_list/${list}/rows`)],
      ['listProducts', ({ tag }) => get(`product_catalog/?code=code%20${tag}`)],
      ['listProducts', ({ tag }) => get(`product_catalog/?code_prefix=code%20${tag}`)],
      ['listPromotions', ({ tag }) => get(`promotions/?name=promotion%20${tag}`)],
      ['listSales', ({ tag }) => get(`sales_history/?code=code%20${tag}`)],
      ['listSales', ({ tag }) => get(`sales_history/?transaction_id=sale%20${tag}`)],
      ['listCompetitorPrices', ({ tag }) => get(`competitor_prices/?code=code%20${tag}`)],
      ['listAgreements', ({ tag }) => get(`agreement/?client_code=client%20${tag}`)],
      ['listAgreements', ({ tag }) => get(`agreement/?price_list_code=list%20${tag}`)],
    ] satisfies [string, Case[2]][]
  ).map(([operation, request]): Case => [operation, 'a file', (things) => asFile(request(things))]),
  [
    'listCompetitorPrices',
    'competitor_name',
    ({ tag }) => get(`competitor_prices/?competitor_name=rival%20${tag}`),
  ],
  ['listAgreements', 'name', ({ tag }) => get(`agreement/?name=agreement%20${tag}`)],
  ['listAgreements', 'client_code', ({ tag }) => get(`agreement/?client_code=client%20${tag}`)],
  [
    'listAgreements',
    'price_list_code',
    ({ tag }) => get(`agreement/?price_list_code=list%20${tag}`),
  ],
  [
    'upsertProducts',
    'an extension',
    ({ tag }) =>
      post('product_catalog/bulk_create_or_update/', [
        { code: 'P000', 'size own': 'S', [`size ${tag}`]: 'S' },
      ]),
  ],
  [
    'upsertProducts',
    'an attribute',
    ({ tag }) =>
      post('product_catalog/bulk_create_or_update/', [
        { code: 'P000', 'size own': 'S', [`color ${tag}`]: 'red' },
      ]),
  ],
  [
    'createPriceLists',
    'a filter',
    ({ tag }) =>
      post('price_list/bulk_create/', [
        { name: `filtered ${tag}`, ...year, product_filters: { [`color ${tag}`]: ['red'] } },
      ]),
  ],
  [
    'addProducts',
    'price_list_name',
    ({ tag }) =>
      post('prices/bulk_add_products/', { price_list_name: `list ${tag}`, payload: [row('P000')] }),
  ],
  [
    'addProducts',
    'name',
    ({ tag }) => post('prices/bulk_add_products/', { name: `list ${tag}`, payload: [row('P000')] }),
  ],
  [
    'addProducts',
    'a product',
    (things) => post('prices/bulk_add_products/', inOwn([rowOf(things)])),
  ],
  [
    'reprice',
    'price_list_name',
    ({ tag }) =>
      post('prices/reprice/', {
        price_list_name: `list ${tag}`,
        formula: '= COMP_MIN + SALES_AVG',
      }),
  ],
  [
    'reprice',
    'price_list_id',
    ({ list }) => post('prices/reprice/', { price_list_id: list, formula: '= 1' }),
  ],
  [
    'reprice',
    'a filter',
    ({ tag }) =>
      post('prices/reprice/', {
        ...{ price_list_name: 'list own', formula: '= 1' },
        product_filters: { [`color ${tag}`]: ['red'] },
      }),
  ],
  [
    'syncWithCatalog',
    'price_list_name',
    ({ tag }) => post('prices/sync_with_catalog/', { price_list_name: `list ${tag}` }),
  ],
  [
    'updatePrices',
    'price_list_name',
    ({ tag }) =>
      post('prices/bulk_update_prices/', {
        price_list_name: `list ${tag}`,
        payload: [{ ...row('P000'), price: 1 }],
      }),
  ],
  [
    'updatePrices',
    'a row',
    (things) => post('prices/bulk_update_prices/', inOwn([{ ...rowOf(things), price: 1 }])),
  ],
  ...(['price_list_name', 'price_list_id'] as const).flatMap((key): Case[] => {
    const named = ({ tag, list }: Things) => ({
      [key]: key === 'price_list_id' ? list : `list ${tag}`,
    })
    const attribute = { dynamic_attribute_name: 'a', dynamic_attribute_value: 1 }
    return [
      [
        'getPrices',
        key,
        (things) => post('prices/get_prices/', { ...named(things), payload: [row('P000')] }),
      ],
      [
        'updateDynamicAttributes',
        key,
        (things) =>
          post('prices/bulk_update_dynamic_attributes/', {
            ...named(things),
            payload: [{ ...row('P000'), ...attribute }],
          }),
      ],
    ]
  }),
  [
    'updateDynamicAttributes',
    'a row',
    (things) =>
      post(
        'prices/bulk_update_dynamic_attributes/',
        inOwn([{ ...rowOf(things), dynamic_attribute_name: 'a', dynamic_attribute_value: 1 }]),
      ),
  ],
  ['getPrices', 'a row', (things) => post('prices/get_prices/', inOwn([rowOf(things)]))],
  [
    'getPrices',
    'an attribute',
    ({ tag }) => post('prices/get_prices/', inOwn([{ [`color ${tag}`]: 'red' }])),
  ],
  [
    'getPrices',
    'promotion',
    ({ tag }) =>
      post('prices/get_prices/', inOwn([{ ...row('P000'), promotion: `promotion ${tag}` }])),
  ],
  ...filesOfLists,
  [
    'upsertPromotions',
    'price_lists',
    ({ tag }) =>
      post('promotions/bulk_create_or_update/', [
        { name: `new ${tag}`, kind: 'amount', value: 1, ...year, price_lists: [`list ${tag}`] },
      ]),
  ],
  [
    'createCompetitorSchema',
    'attributes_config',
    ({ tag }) =>
      post('competitor_prices/schema/create_schema/', {
        attributes_config: [tag === 'own' ? 'code' : `color ${tag}`],
      }),
  ],
  ['resetPassword', 'path', ({ user }) => post(`users/${user}/reset_password/`, undefined)],
  [
    'updateUser',
    'path',
    ({ user }) => ({ method: 'PATCH', path: `/api/v1/users/${user}`, body: { scopes: ['read'] } }),
  ],
  ['deleteUser', 'path', ({ user }) => ({ method: 'DELETE', path: `/api/v1/users/${user}` })],
  ['revokeApiKey', 'path', ({ key }) => ({ method: 'DELETE', path: `/api/v1/api_keys/${key}` })],
  [
    'deletePromotion',
    'path',
    ({ promotion }) => ({ method: 'DELETE', path: `/api/v1/promotions/${promotion}` }),
  ],
  [
    'updatePriceList',
    'path',
    ({ list }) => ({
      method: 'PATCH',
      path: `/api/v1/price_list/${list}`,
      body: { description: 'other' },
    }),
  ],
  [
    'removeProducts',
    'price_list_name',
    ({ tag }) =>
      post('prices/bulk_remove_products/', {
        price_list_name: `list ${tag}`,
        payload: [row('P001')],
      }),
  ],
  [
    'removeProducts',
    'name',
    ({ tag }) =>
      post('prices/bulk_remove_products/', { name: `list ${tag}`, payload: [row('P002')] }),
  ],
  [
    'removeProducts',
    'a product',
    (things) => post('prices/bulk_remove_products/', inOwn([rowOf(things)])),
  ],
  [
    'deletePriceList',
    'path',
    ({ list }) => ({ method: 'DELETE', path: `/api/v1/price_list/${list}` }),
  ],
  ['deleteProducts', 'a key', ({ product }) => post('product_catalog/bulk_delete/', [product])],
  [
    'deletePromotions',
    'a key',
    ({ tag }) => post('promotions/bulk_delete/', [`promotion ${tag}`, `new ${tag}`]),
  ],
  ['deleteSales', 'a key', ({ tag }) => post('sales_history/bulk_delete/', [`sale ${tag}`])],
  [
    'deleteCompetitorPrices',
    'a key',
    ({ entry }) => post('competitor_prices/bulk_delete/', [entry]),
  ],
  ['deleteAgreements', 'a key', ({ agreement }) => post('agreement/bulk_delete/', [agreement])],
]

/** Names that are the caller's to choose: what another account has by that name is not in the way and not met. */
const choices: Case[] = [
  [
    'createApiKey',
    'name',
    ({ tag }) => post('api_keys/', { name: `key ${tag}`, scopes: ['read'] }),
  ],
  [
    'createPriceLists',
    'name',
    ({ tag }) => post('price_list/bulk_create/', [{ name: `list ${tag}`, ...year }]),
  ],
  [
    'upsertProducts',
    'code',
    ({ tag }) => post('product_catalog/bulk_create_or_update/', [row(`code ${tag}`)]),
  ],
  [
    'upsertPromotions',
    'name',
    ({ tag }) =>
      post('promotions/bulk_create_or_update/', [
        { name: `promotion ${tag}`, kind: 'amount', value: 1, ...year },
      ]),
  ],
  [
    'upsertSales',
    'transaction_id',
    ({ tag }) =>
      post('sales_history/bulk_create_or_update', [
        {
          transaction_id: `sale ${tag}`,
          code: 'x',
          extension: '',
          quantity: '1',
          revenue: '1',
          price_list_name: `list ${tag}`,
        },
      ]),
  ],
  [
    'upsertCompetitorPrices',
    'an entry',
    ({ tag }) =>
      post('competitor_prices/bulk_create_or_update/', [
        { code: `code ${tag}`, competitor_name: `rival ${tag}`, competitor_price: 2 },
      ]),
  ],
  [
    'upsertAgreements',
    'an agreement',
    ({ tag }) =>
      post('agreement/bulk_create_or_update', [
        {
          name: `agreement ${tag}`,
          client_code: `client ${tag}`,
          price_list_code: `list ${tag}`,
          price_line: { a: 1 },
          prices: { a: 2 },
        },
      ]),
  ],
  [
    'createCatalogSchema',
    'a column',
    ({ tag }) =>
      post('product_catalog/schema/create_schema/', {
        attributes: ['own', 'one', 'two']
          .slice(0, tag === 'one' ? 2 : 3)
          .map((name) => ({ name: `color ${name}`, type: 'string' })),
        extensions: [{ name: 'size own', type: 'string' }],
      }),
  ],
]

/** Takes nothing that names a thing of an account. */
const withoutNames = [
  'login',
  'readCatalogSchema',
  'readCompetitorSchema',
  'listJobs',
  'listApiKeys',
  // An e-mail is unique over all accounts.
  'createUser',
  'listUsers',
  'changePassword',
  'readLiveness',
  'readReadiness',
  'readMetrics',
  'readContractYaml',
  'readContractJson',
]

/** An answer byte for byte, but for the id and the time of the request and the names that were sent. */
function told({ status, headers, body }: TestResponse, { tag }: Things): string {
  const { date: _, 'x-request-id': __, ...others } = headers
  const text = JSON.stringify(body)?.replace(/"instance":"[^"]+"/, '"instance":""')
  return JSON.stringify([status, others]) + text?.replaceAll(tag, '***')
}

const services = {
  'with policies': await startTestService(t),
  'without policies': await withoutPolicies(),
}

for (const [walls, service] of Object.entries(services)) {
  t.test(walls, async (t) => {
    const dump = await openDump(service.url)
    t.teardown(() => dump.close())
    const [own, foreign] = [await service.newAccount(t), await service.newAccount(t)]
    const ownThings = await populated(own, 'own')
    const foreignThings = await populated(foreign, 'one')
    const absent: Things = {
      tag: 'two',
      list: 99_999,
      agreement: 99_999,
      promotion: 99_999,
      job: 99_999,
      key: 99_999,
      user: 99_999,
      plan: 99_999,
      product: 99_999,
      entry: '0'.repeat(64),
    }
    const send = ({ method, path, body, headers }: Request) => own.send(method, path, body, headers)
    /** Of a file that is answered. */
    const rowsIn = (file: string) => file.trimEnd().split('\n').length - 1

    t.test('what another account has is answered byte for byte like what nobody has', async (t) => {
      const before = await dump.hashOf(foreign.id)
      for (const [operation, place, request] of cases) {
        const [there, absentOne] = [await send(request(foreignThings)), await send(request(absent))]
        const other = told(there, foreignThings)
        t.equal(other, told(absentOne, absent), `${operation}, ${place}`)
        if (typeof there.body === 'string') t.ok(rowsIn(there.body) < 1, `${operation}, ${place}`)
        else
          t.notMatch(
            other,
            /"(pk|price_list_id|hash)":|extended_catalog_id/,
            `${operation}, ${place}: nothing is told`,
          )
      }
      t.equal(await dump.hashOf(foreign.id), before, 'the other account is as it was')
    })

    t.test('a name that another account has taken is free', async (t) => {
      const before = await dump.hashOf(foreign.id)
      for (const [operation, place, request] of choices) {
        const statuses = []
        for (const things of [foreignThings, absent]) {
          const { status, body } = await send(request(things))
          statuses.push([status, Object.keys(body)])
          t.ok(status < 300, `${operation}, ${place}: ${JSON.stringify(body)}`)
          t.strictSame(
            body.updated ?? [],
            [],
            `${operation}, ${place}: what it met was not its own`,
          )
        }
        t.strictSame(statuses[0], statuses[1], `${operation}, ${place}`)
      }
      t.equal(await dump.hashOf(foreign.id), before, 'the other account is as it was')
    })

    t.test('the same requests find what the account has itself', async (t) => {
      for (const [operation, place, request] of cases) {
        const { status, body } = await send(request(ownThings))
        if (body.resource_type === 'file') t.match(await own.finished(body), { status: 'done' })
        const isFound = status < 300 || ['job-ended', 'plan-not-open'].includes(body.type)
        if (place === 'a file') t.ok(rowsIn(body) > 0, `${operation}, ${place}`)
        t.ok(
          isFound && body.count !== 0 && body.deleted !== 0,
          `${operation}, ${place}: ${status} ${JSON.stringify(body).slice(0, 200)}`,
        )
      }
    })
  })
}

t.test('no operation is left out', async (t) => {
  const covered = new Set([...cases, ...choices].map(([operation]) => operation))
  for (const { id } of operations) t.not(covered.has(id), withoutNames.includes(id), id)
})
