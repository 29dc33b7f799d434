import { type BenchList, codeOf, fillCatalog, fillList, someIndexes } from './fill.ts'
import { type Measure, medianOf } from './measure.ts'
import type { BenchService } from './service.ts'

const dimensions = ['retail', 'wholesale', 'web']
let list: BenchList | undefined

/** The list of all measures here, with three dimensions. */
export async function threeDimensions(service: BenchService, rows: number): Promise<BenchList> {
  if (!list) {
    await fillCatalog(service, rows)
    list = await fillList(service, 'Three dimensions', { rows, price_dimensions: dimensions })
  }
  return list
}

/** Repetitions of short work in a round. */
const updates = 3
const shortRounds = 5

function updateMeasure(rows: number): Measure {
  const codes = () => someIndexes(10_000, rows).map(codeOf)
  const price = () => Math.round(Math.random() * 1e6) / 100
  return {
    name: 'bulk_update_prices of 10000 rows',
    unit: 'times',
    floor: 1.4,
    aim: 1.15,
    shortRounds,
    prepare: async (service) => void (await threeDimensions(service, rows)),
    ours: (service) => {
      const row = (code: string) => ({
        code,
        country: 'UK',
        price_dimension: 'web',
        price: price(),
      })
      const bodies = Array.from({ length: updates }, () =>
        JSON.stringify({ price_list_name: list?.name, payload: codes().map(row) }),
      )
      return medianOf(updates, () =>
        service.post('/api/v1/prices/bulk_update_prices/', bodies.pop() ?? ''),
      )
    },
    bare: (service) => {
      const text = `
        update price_list_rows r set prices = array[r.prices[1], r.prices[2], i.price]
        from unnest($1::text[], $2::numeric[]) as i (code, price)
        where r.account_id = ${service.account} and r.price_list_id = ${list?.id} and r.code = i.code
          and r.extensions = '{UK}'
        returning r.id`
      const inputs = Array.from({ length: updates }, () => codes().sort()).map((sorted) => [
        sorted,
        sorted.map(price),
      ])
      return medianOf(updates, () => service.sql.query(text, inputs.pop()))
    },
  }
}

function readMeasure(rows: number, keys: number, floor: number, aim: number): Measure {
  const repeats = { 1: 200, 1000: 20 }[keys] ?? 5
  return {
    name: `get_prices of ${keys} keys`,
    unit: 'times',
    floor,
    aim,
    shortRounds,
    prepare: async (service) => void (await threeDimensions(service, rows)),
    ours: (service) => {
      const codes = someIndexes(keys, rows).map(codeOf)
      const payload = codes.map((code) => ({ code, country: 'UK', price_dimension: 'web' }))
      const body = JSON.stringify({ price_list_name: list?.name, payload })
      return medianOf(repeats, () => service.post('/api/v1/prices/get_prices/', body))
    },
    bare: (service) => {
      const codes = someIndexes(keys, rows).map(codeOf)
      const text = `
        select i.position, r.id, r.product_id, r.prices[3] as price
        from unnest($1::text[]) with ordinality as i (code, position)
        join price_list_rows r on r.account_id = ${service.account} and r.price_list_id = ${list?.id}
          and r.code = i.code and r.extensions = '{UK}'`
      return medianOf(repeats, () => service.sql.query(text, [codes]))
    },
  }
}

/** Updates and reads of prices, against bare SQL. */
export const priceMeasures = (rows: number): Measure[] => [
  updateMeasure(rows),
  readMeasure(rows, 1, 2.5, 1.8),
  readMeasure(rows, 1000, 1.4, 1.2),
  readMeasure(rows, 10_000, 1.25, 1.1),
]
