import t from 'tap'
import { startTestService } from '../helpers/service.ts'
import { addProducts, aList, aShop } from '../helpers/shop.ts'
import { select } from '../helpers/sql.ts'
import { nodesOf, type PlanNode, plansOfStaged } from '../helpers/statements.ts'

const service = await startTestService(t)
const codes = Array.from({ length: 1500 }, (_, index) => `P${index}`)
const dimensions = Array.from({ length: 10 }, (_, index) => `d${index}`)
const days = Array.from({ length: 10 }, (_, index) => `2026-05-1${index}`)
const shop = await aShop(t, service, { codes, countries: ['UK'] })
await aList(shop, { price_dimensions: dimensions })
await aList(shop, { name: 'calendar', is_calendar: true })
await aList(shop, { name: 'empty' })
const payload = codes.map((code) => ({ code, country: 'UK' }))
for (const name of ['list', 'calendar']) await addProducts(shop, name, payload)
// What 15,000 rows are to 64 kB, a million are to the 4 MB that a statement has by default.
await select(
  service.url,
  `do $$ begin execute format('alter database %I set work_mem = ''64kB''', current_database()); end $$`,
)

/** Nodes of a plan that read the staged rows once for each of many other rows. */
function repeatedReads(plan: PlanNode): PlanNode[] {
  const { Filter: filter = '', Plans: children = [] } = plan
  const isLoop = plan['Node Type'] === 'Nested Loop' && (children[0]?.['Plan Rows'] ?? 0) > 1
  return children.flatMap((child) => {
    const kind = child['Parent Relationship']
    const isHashed = filter.includes(`hashed ${child['Subplan Name']}`)
    const isRepeated = kind === 'Inner' ? isLoop : kind === 'SubPlan' && !isHashed
    return isRepeated ? nodesOf(child).filter(isOfStaged) : repeatedReads(child)
  })
}

const isOfStaged = (node: PlanNode) => node['Relation Name'] === 'feed'

const files: [name: string, path: string, header: string, row: (code: string) => string[]][] = [
  [
    'prices',
    '/api/v1/prices/bulk_update_prices/?price_list_name=list',
    'code,country,price_dimension,price',
    (code) => dimensions.map((dimension) => `${code},UK,${dimension},2`),
  ],
  [
    'prices with ids',
    '/api/v1/prices/bulk_update_prices/?price_list_name=list',
    'pk,extended_catalog_id,code,country,price_dimension,price',
    (code) =>
      dimensions.map(
        (dimension, index) => `${8e15 + index},${8e15 + index},${code},UK,${dimension},2`,
      ),
  ],
  [
    'prices of days',
    '/api/v1/prices/bulk_update_prices/?price_list_name=calendar',
    'code,country,date,price',
    (code) => days.map((day) => `${code},UK,${day},2`),
  ],
  [
    'dynamic attributes',
    '/api/v1/prices/bulk_update_dynamic_attributes/?price_list_name=list',
    'code,country,dynamic_attribute_name,dynamic_attribute_value',
    (code) => dimensions.map((name) => `${code},UK,${name},2`),
  ],
  [
    'added products',
    '/api/v1/prices/bulk_add_products/?price_list_name=empty',
    'code,country',
    (code) => [`${code},UK`],
  ],
  [
    'products',
    '/api/v1/product_catalog/bulk_create_or_update/',
    'code,country,description',
    (code) => dimensions.map((dimension) => `${code},${dimension},about ${code}`),
  ],
  [
    'promotions',
    '/api/v1/promotions/bulk_create_or_update/',
    'name,kind,value,valid_from,valid_to,price_lists',
    (code) =>
      dimensions.map((name) => `${code}${name},amount,1,2026-01-01,2026-02-01,"[""list""]"`),
  ],
]

for (const [name, path, header, row] of files) {
  t.test(`a file of ${name} does not read all of its rows for each of them`, async (t) => {
    const plans = await plansOfStaged(async () => {
      const file = [header, ...codes.flatMap(row)].join('\n')
      const { status, body } = await shop.send('POST', path, file, { 'content-type': 'text/csv' })
      t.ok(status < 300, JSON.stringify(body).slice(0, 300))
      if (body.status === 'progress') t.equal((await shop.finished(body)).status, 'done')
    })
    t.not(plans.length, 0)
    t.strictSame(plans.flatMap(repeatedReads), [])
  })
}
