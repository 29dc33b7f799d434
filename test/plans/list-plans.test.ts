import t from 'tap'
import { aPricedList } from '../helpers/plans.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aList } from '../helpers/shop.ts'

const service = await sharedService()

t.test('plans are listed by id, by status and by list', async (t) => {
  const { shop, list, plan, apply } = await aPricedList(t, service)
  const ids = []
  for (const price of [11, 12, 13]) ids.push((await plan({ A: price })).body.id)
  await apply(ids[1])
  const found = async (query: string) => {
    const { body } = await shop.get(`/api/v1/plans/?${query}`)
    return [body.count, ...body.results.map(({ id }: { id: number }) => id)]
  }
  t.strictSame(await found(''), [3, ...ids])
  t.strictSame(await found('limit=1&offset=1'), [3, ids[1]])
  t.strictSame(await found('status=open'), [2, ids[0], ids[2]])
  t.strictSame(await found('status=applied'), [1, ids[1]])
  t.strictSame(await found(`price_list_id=${list.id}`), [3, ...ids])
  const other = await aList(shop, { name: 'other' })
  t.strictSame(await found(`price_list_id=${other.id}`), [0])
})

t.test('an unknown status is refused', async (t) => {
  const { shop } = await aPricedList(t, service)
  t.match(await shop.get('/api/v1/plans/?status=done'), { status: 400 })
})
