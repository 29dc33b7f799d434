import t from 'tap'
import { aMarket, anEntry, loadPath } from '../helpers/market.ts'
import { sharedService } from '../helpers/shared-service.ts'

const path = '/api/v1/competitor_prices/schema/'
const service = await sharedService()

t.test('before a schema is made there is none, whatever other accounts have', async (t) => {
  await aMarket(t, service, { attributes_config: ['code'] })
  const account = await service.newAccount(t)
  const { status, body } = await account.get(path)
  t.equal(status, 404)
  t.equal(body.type, 'not-found')
})

t.test('shows the schema, how many entries it has and the day of the newest', async (t) => {
  const market = await aMarket(t, service, { attributes_config: ['code'], is_dated: true })
  await market.post(loadPath, [
    anEntry({ latest_update: '2026-03-01T12:00:00Z' }),
    anEntry({ departure_date: '2026-07-01', latest_update: '2026-03-05T23:30:00-02:00' }),
    anEntry({ code: 'B', latest_update: '2026-02-01' }),
  ])
  const { status, body } = await market.get(path)
  t.equal(status, 200)
  t.strictSame(body, {
    input: { dimensions: ['code'] },
    output: { total: 3, latest_update: '2026-03-06' },
    is_dated: true,
  })
})
