import type { Test } from 'tap'
import { loadPath as agreements, anAgreement } from './agreement.ts'
import { anEntry, loadPath as competitorPrices, schemaPath as competitorSchema } from './market.ts'
import { aSale } from './sales.ts'
import type { TestService } from './service.ts'

type Request = [path: string, body?: unknown, headers?: Record<string, string>]

const year = { valid_from: '2026-02-01', valid_to: '2026-12-31' }
const since = '2026-02-01'
const sales = '/api/v1/sales_history/bulk_create_or_update'
const file = `transaction_id,code,extension,quantity,revenue\nT1,A,"a\\b",1,2.5\nT2,A,,1,2.5\n`

const schema = {
  attributes: [
    { name: 'season', type: 'string' },
    { name: 'launch', type: 'date' },
  ],
  extensions: [{ name: 'since', type: 'date' }],
  costs: [{ name: 'freight' }],
}
/** More than the background threshold. */
const codes = Array.from({ length: 101 }, (_, index) => ({ code: `P${index}`, since }))
const products = codes.map((code, index) => ({
  ...code,
  ...(index % 2 && { launch: '2026-03-04', season: 'a\\b' }),
}))
const keys = ['2026-02-01', '2026-02-28', '2026-03-01', '2026-12-31', '2027-01-31'].map((date) => ({
  code: 'P1',
  since,
  date,
}))
const payload = keys.map((key, index) => ({ ...key, price: index + 0.1 }))
const promotion = { name: 'Spring', kind: 'percentage', value: 20, valid_from: '2026-03-01' }
const entry = { departure_date: '2026-07-08', latest_update: '2026-01-02T03:04:05Z' }

const requests: Request[] = [
  ['/api/v1/product_catalog/schema/create_schema/', schema],
  ['/api/v1/product_catalog/bulk_create_or_update/', products],
  ['/api/v1/price_list/bulk_create/', [{ name: 'L', ...year, is_calendar: true }]],
  ['/api/v1/prices/bulk_add_products/', { price_list_name: 'L', payload: codes }],
  ['/api/v1/prices/bulk_update_prices/', { price_list_name: 'L', payload }],
  ['/api/v1/prices/sync_with_catalog/', { price_list_name: 'L' }],
  ['/api/v1/promotions/bulk_create_or_update/', [{ ...promotion, valid_to: '2026-03-31' }]],
  ['/api/v1/prices/get_prices/', { price_list_name: 'L', payload: keys }],
  [agreements, [anAgreement()]],
  [competitorSchema, { attributes_config: ['code'], is_dated: true }],
  [competitorPrices, [anEntry(entry)]],
  [sales, file, { 'content-type': 'text/csv', prefer: 'respond-async' }],
  [sales, [aSale({ extension: 'a\\b', transaction_date: '2026-03-04T05:06:07Z' })]],
  ...['price_list/', 'product_catalog/?limit=5', 'promotions/', 'agreement/'].map(reading),
  ...['competitor_prices/', 'competitor_prices/schema/', 'sales_history/', 'jobs/'].map(reading),
]

function reading(path: string): Request {
  return [`/api/v1/${path}`]
}

/** The answers of all operations that handle dates, times, daily prices, arrays and files, jobs included. */
export async function aDay(t: Test, service: TestService): Promise<unknown[]> {
  const { send, finished, get } = await service.newAccount(t)
  const answers: unknown[] = []
  const note = (answer: unknown) => answers.push(masked(answer))
  for (const [path, body, headers] of requests) {
    const answer = await send(body === undefined ? 'GET' : 'POST', path, body, headers)
    if (answer.status >= 300) throw new Error(`${path} ${JSON.stringify(answer.body)}`)
    note([path, answer.status, answer.body])
    if (answer.body.status === 'progress') note(await finished(answer.body))
  }
  const { results } = (await get('/api/v1/price_list/')).body
  note((await get(`/api/v1/price_list/${results[0].id}/rows?limit=3&date=2026-02-28`)).body)
  return answers
}

/** The value without ids and times that differ between runs. */
function masked(answer: unknown): unknown {
  const now = new RegExp(
    `"${new Date().toISOString().slice(0, 10)}T[^"]*"|"[0-9a-f]{8}-[^"]{27}"`,
    'g',
  )
  return JSON.parse(JSON.stringify(answer).replace(now, '"of this run"'))
}
