import t from 'tap'
import { readContract } from '../../src/contract/document.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aFilledList } from '../helpers/shop.ts'
import { statementsOf } from '../helpers/statements.ts'

const { paths } = readContract()
const pages = Object.keys(paths).filter((path) => {
  const parameters: { $ref?: string }[] = paths[path].get?.parameters ?? []
  return parameters.some(({ $ref }) => $ref?.endsWith('/Offset'))
})

t.test('count and results of a page are of one moment: one statement reads both', async (t) => {
  const service = await sharedService()
  const { shop, id } = await aFilledList(t, service)
  const update = { price_list_name: 'L', payload: [{ code: 'A', country: 'UK', price: 1 }] }
  const { body: plan } = await shop.post('/api/v1/prices/bulk_update_prices/?plan=true', update)
  t.equal(pages.length, 14)
  for (const path of pages) {
    // A diff needs a moment, of a list that is published.
    const of = path.startsWith('/api/v1/plans/') ? plan.id : id
    const url = `${path.replace('{id}', String(of))}${path.endsWith('/diff/') ? '?from=0' : ''}`
    const statements = await statementsOf(() => shop.get(url))
    const counting = statements.filter(({ text }) => / limit \$\d/.test(text))
    t.equal(counting.length, 1, path)
    t.match(counting[0]?.text, /count\(\*\)/, path)
  }
})
