import { codeOf, fillCatalog, fillList, someIndexes } from './fill.ts'
import { type Measure, medianOf } from './measure.ts'
import type { BenchService } from './service.ts'

const count = 1000

/** The same read with 1,000 promotions and with none. */
export const promotionMeasures = (products: number): Measure[] => {
  const read = (service: BenchService, name: string) => {
    const codes = someIndexes(1000, products).map(codeOf)
    const payload = codes.map((code) => ({ code, country: 'UK' }))
    const body = JSON.stringify({ price_list_name: name, promotion_date: '2026-06-01', payload })
    return medianOf(10, () => service.post('/api/v1/prices/get_prices/', body))
  }
  return [
    {
      name: `${count} promotions x 1000 rows`,
      unit: 'times',
      floor: 5,
      aim: 2,
      prepare: async (service) => {
        await fillCatalog(service, products)
        await fillList(service, 'Promoted', { rows: products })
        await fillList(service, 'Not promoted', { rows: products })
        await createPromotions(service)
      },
      ours: (service) => read(service, 'Promoted'),
      bare: (service) => read(service, 'Not promoted'),
    },
  ]
}

/** Each covers a family and a country: 10 apply to a row, 990 do not. */
async function createPromotions(service: BenchService): Promise<void> {
  const promotions = Array.from({ length: count }, (_, index) => ({
    name: `Promotion ${index}`,
    kind: 'percentage',
    value: (index % 50) + 1,
    valid_from: '2026-01-01',
    valid_to: '2026-12-31',
    price_lists: ['Promoted'],
    product_filters: { family: [`F${index % 100}`], country: ['UK'] },
  }))
  await service.call('POST', '/api/v1/promotions/bulk_create_or_update/', promotions)
}
