import t from 'tap'
import { readContract } from '../../src/contract/document.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aList, aShop } from '../helpers/shop.ts'
import { statementsOf } from '../helpers/statements.ts'

const { paths } = readContract()
const pages = Object.keys(paths).filter((path) => {
  const parameters: { $ref?: string }[] = paths[path].get?.parameters ?? []
  return parameters.some(({ $ref }) => $ref?.endsWith('/Offset'))
})

t.test('count and results of a page are of one moment: one statement reads both', async (t) => {
  const service = await sharedService()
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const { id } = await aList(shop, { name: 'L' })
  await addProducts(shop, 'L', [{ code: 'A', country: 'UK' }])
  t.equal(pages.length, 11)
  for (const path of pages) {
    // A diff needs a moment, of a list that is published.
    const url = `${path.replace('{id}', String(id))}${path.endsWith('/diff/') ? '?from=0' : ''}`
    const statements = await statementsOf(() => shop.get(url))
    const counting = statements.filter(({ text }) => / limit \$\d/.test(text))
    t.equal(counting.length, 1, path)
    t.match(counting[0]?.text, /count\(\*\)/, path)
  }
})
