import { fillList, storedRows } from './fill.ts'
import type { Workload } from './measure.ts'
import { readTime } from './reads.ts'
import type { Service } from './servers.ts'

const count = 1000
const name = 'read 1,000 of a list'
const promotedName = `${name} with ${count.toLocaleString('en')} promotions`
const promotion_date = '2026-06-01'

/** The same read with 1,000 promotions and with none. */
export const promotionWorkload: Workload = {
  rows: [
    { name, unit: 'ms' },
    { name: promotedName, unit: 'ms', goal: { ratio: 2, of: name } },
  ],
  prepare: async ({ ours }) => {
    for (const list of ['Not promoted', 'Promoted'])
      await fillList(ours, list, { rows: storedRows })
    await createPromotions(ours)
  },
  ours: async ({ ours }) => [
    await readTime(ours, { price_list_name: 'Not promoted', promotion_date }),
    await readTime(ours, { price_list_name: 'Promoted', promotion_date }),
  ],
}

/** Each covers a family and a country: 10 apply to a row, 990 do not. */
async function createPromotions(service: Service): Promise<void> {
  const promotions = Array.from({ length: count }, (_, index) => ({
    name: `Promotion ${index}`,
    kind: 'percentage',
    value: (index % 50) + 1,
    valid_from: '2026-01-01',
    valid_to: '2026-12-31',
    price_lists: ['Promoted'],
    product_filters: { family: [`F${index % 100}`], country: ['UK'] },
  }))
  await service.post('/api/v1/promotions/bulk_create_or_update/', JSON.stringify(promotions))
}
