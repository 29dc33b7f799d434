import t from 'tap'
import { query } from '../helpers/database.ts'
import { startTestService } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aShop } from '../helpers/shop.ts'

const service = await sharedService()

t.test('a long body whose parts take several statements each is written whole', async (t) => {
  const codes = Array.from({ length: 20_000 }, (_, index) => `P${index}`)
  for (let times = 0; times < 4; times++) {
    const shop = await aShop(t, service, { codes, countries: ['UK'] })
    t.equal((await shop.get('/api/v1/product_catalog/?limit=1')).body.count, 20_000)
  }
})

t.test('a body that is too long to be written as it is read has attributes, too', async (t) => {
  const shop = await aShop(t, service, { codes: ['A'], countries: ['UK'] })
  const description = 'x'.repeat(240)
  const rows = Array.from({ length: 40_000 }, (_, index) => {
    return { code: `P${index}`, country: 'UK', description }
  })
  const path = '/api/v1/product_catalog/'
  t.equal((await shop.post(`${path}bulk_create_or_update/`, rows)).status, 200)
  const { body } = await shop.get(`${path}?limit=1&offset=40000`)
  t.match(body, { count: 40_001, results: [{ description }] })
})

t.test(
  'a full disk while a long body is written is 503, however much is read by then',
  async (t) => {
    const service = await startTestService(t)
    const account = await service.newAccount(t)
    await query(
      service.url,
      `create function fail() returns trigger language plpgsql as $$ begin
      perform pg_sleep(0.2);
      raise exception using errcode = 'disk_full';
    end $$;
    create trigger fail before insert on sales for each statement execute function fail()`,
    )
    const rows = Array.from({ length: 80_000 }, (_, index) => {
      return { transaction_id: `T${index}`, code: 'A', extension: '', quantity: '1', revenue: '1' }
    })
    const { status, body } = await account.post(
      '/api/v1/sales_history/bulk_create_or_update/',
      rows,
    )
    t.match({ status, type: body.type }, { status: 503, type: 'unavailable' })
  },
)
