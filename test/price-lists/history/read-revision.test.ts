import t from 'tap'
import { expectProblem } from '../../helpers/operations.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { aFilledList } from '../../helpers/shop.ts'

const service = await sharedService()

t.test('one revision; there is none of number 0, nor of another account', async (t) => {
  const { shop, list } = await aFilledList(t, service)
  const path = `/api/v1/price_list/${list.id}/revisions`
  const { body } = await shop.get(`${path}/1`)
  t.match(body, { revision: 1, kind: 'add_products', added: 1 })
  t.strictSame(body, (await shop.get(`${path}/`)).body.results[0])
  expectProblem(t, await shop.get(`${path}/2`), 404, 'not-found', 'not-found')
  expectProblem(t, await shop.get(`${path}/0`), 404, 'not-found', 'not-found')
  const other = await service.newAccount(t)
  expectProblem(
    t,
    await other.get(`${path}/1`),
    404,
    'price-list-not-found',
    'price-list-not-found',
  )
})
