import t from 'tap'
import { operations } from '../../src/contract/document.ts'
import { expectFaults } from '../helpers/faults.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aFilledList, setPrices } from '../helpers/shop.ts'

const service = await sharedService()
const mark = '\ufeff'
const a = { code: 'A', country: 'UK' }
const { shop, list } = await aFilledList(t, service)
await setPrices(shop, 'L', [{ ...a, price: 2.5 }])
const plan = await shop.post('/api/v1/prices/reprice/', {
  ...{ price_list_name: 'L', formula: '= 3' },
})

/** Every operation that answers files. */
const paths = operations
  .filter(({ fileAnswers }) => fileAnswers.length > 0)
  .map(({ path, queryNames }) => {
    const query = queryNames?.includes('from') && path.includes('diff') ? 'from=0&' : ''
    const id = path.includes('plans') ? plan.body.id : list.id
    return `${path.replace('{id}', id)}?${query}`
  })
t.equal(paths.length, 9)

const read = (path: string, accept: string) => shop.send('GET', path, undefined, { accept })

for (const path of paths) {
  t.test(`${path} as CSV begins with a mark where bom=true asks for it`, async (t) => {
    const plain = await read(path, 'text/csv')
    const marked = await read(`${path}bom=true`, 'text/csv')
    t.strictSame([marked.status, marked.headers['content-type']], [200, 'text/csv; charset=utf-8'])
    t.equal(marked.body, mark + plain.body)
    t.not(plain.body[0], mark)
    t.equal((await read(`${path}bom=false`, 'text/csv')).body, plain.body)
  })

  t.test(`${path} has no mark but in CSV`, async (t) => {
    for (const accept of ['application/x-ndjson', 'application/json', '*/*'])
      expectFaults(t, await read(`${path}bom=true`, accept), ['/query/bom not_allowed'])
    for (const accept of ['application/x-ndjson', 'application/json']) {
      const { status, body } = await read(`${path}bom=false`, accept)
      t.strictSame([status, body], [200, (await read(path, accept)).body])
    }
  })

  t.test(`${path} refuses another bom`, async (t) => {
    for (const bom of ['1', '', 'TRUE', 'true&bom=true']) {
      const { status, body } = await read(`${path}bom=${bom}`, 'text/csv')
      t.match([status, body], [400, { errors: [{ pointer: '/query/bom' }] }], bom)
    }
  })
}

t.test('a file with a mark is loaded as the one without', async (t) => {
  const { shop: other } = await aFilledList(t, service)
  const csv = { 'content-type': 'text/csv' }
  const products = await read('/api/v1/product_catalog/?bom=true', 'text/csv')
  const prices = await read(`/api/v1/price_list/${list.id}/rows?bom=true`, 'text/csv')
  const load = '/api/v1/product_catalog/bulk_create_or_update/'
  t.match((await other.send('POST', load, products.body, csv)).body, { rows: 1, updated: 1 })
  const update = '/api/v1/prices/bulk_update_prices/?price_list_name=L'
  t.match((await other.send('POST', update, prices.body, csv)).body, { rows: 1, updated: 1 })
})

t.test('what answers no file has no bom', async (t) => {
  expectFaults(t, await shop.get('/api/v1/price_list/?bom=true'), ['/query/bom unknown_key'])
})
