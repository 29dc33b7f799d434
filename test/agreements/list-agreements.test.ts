import t from 'tap'
import { anAgreement, listPath, loadPath } from '../helpers/agreement.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService()

t.test('is empty for an account without agreements', async (t) => {
  const account = await service.newAccount(t)
  t.strictSame((await account.get(listPath)).body, { count: 0, results: [] })
})

t.test('narrows by client_code, price_list_code and name, exactly', async (t) => {
  const account = await service.newAccount(t)
  await account.post(loadPath, [
    anAgreement({ client_code: 'C1', price_list_code: 'P1', name: 'N1' }),
    anAgreement({ client_code: 'C1', price_list_code: 'P2', name: 'N1' }),
    anAgreement({ client_code: 'C2', price_list_code: 'P1', name: 'N2' }),
    anAgreement({ client_code: '5', price_list_code: 'P&/ =%', name: 'n1' }),
  ])
  const counts: [query: string, count: number][] = [
    ['', 4],
    ['?client_code=C1', 2],
    ['?price_list_code=P1', 2],
    ['?name=N1', 2],
    ['?client_code=C1&price_list_code=P1', 1],
    ['?client_code=C1&price_list_code=P1&name=N2', 0],
    ['?client_code=5', 1],
    [`?price_list_code=${encodeURIComponent('P&/ =%')}`, 1],
    ['?name=Nobody', 0],
  ]
  for (const [query, count] of counts) {
    const { body } = await account.get(`${listPath}${query}`)
    t.equal(body.count, count, query)
    t.equal(body.results.length, count, query)
  }
})

t.test('pages through all agreements once, in the order of their ids', async (t) => {
  const account = await service.newAccount(t)
  const clients = Array.from({ length: 30 }, (_, index) => `C${index}`)
  await account.post(
    loadPath,
    clients.map((client_code) => anAgreement({ client_code })),
  )
  const first = (await account.get(listPath)).body
  const second = (await account.get(`${listPath}?offset=25&limit=1000`)).body
  t.strictSame([first.count, first.results.length, second.results.length], [30, 25, 5])
  const ids = [...first.results, ...second.results].map(({ id }) => id)
  t.strictSame(
    ids,
    ids.toSorted((a, b) => a - b),
  )
  t.equal(new Set(ids).size, 30)
  t.strictSame((await account.get(`${listPath}?offset=30`)).body, { count: 30, results: [] })
})

t.test('bad parameters are refused', async (t) => {
  const account = await service.newAccount(t)
  const bad = ['limit=0', 'limit=1001', 'offset=-1', 'client_code=', 'price_list_code=', 'name=']
  for (const query of [...bad, `name=${'x'.repeat(256)}`]) {
    const { status, body } = await account.get(`${listPath}?${query}`)
    t.equal(status, 400, query)
    t.equal(body.type, 'invalid-request', query)
  }
})
