import { randomBytes } from 'node:crypto'
import { CopySource } from '../../../src/database/copy.ts'
import { type Measure, median, timed } from './measure.ts'
import type { BenchService } from './service.ts'

const columns =
  'transaction_id, price_list_name, price_dimension, code, extension, quantity, active_price, client_code, agreement_code, departure_date, revenue, transaction_date, currency'

/** Random hexadecimal digits, two per byte. */
export const randomKey = (bytes = 10) => randomBytes(bytes).toString('hex')
const saleRow = () => ({
  transaction_id: randomKey(),
  price_list_name: 'Retail 2026',
  price_dimension: 'retail',
  code: randomKey().slice(0, 8),
  extension: 'United Kingdom',
  quantity: '6',
  active_price: '2.55',
  client_code: '17850',
  agreement_code: 'A-1',
  departure_date: '2026-01-01',
  revenue: '15.30',
  transaction_date: '2026-01-01T08:26:00Z',
  currency: 'GBP',
})
export const salePath = '/api/v1/sales_history/bulk_create_or_update'
export const salesOf = (rows: number) => Array.from({ length: rows }, saleRow)

async function copySales(service: BenchService, bytes: string): Promise<number> {
  return timed(() =>
    service.sql.query(`copy sales (account_id, ${columns}) from stdin $1`, [
      new CopySource(once(bytes)),
    ]),
  )
}

/** A text as the only chunk of a COPY. */
export async function* once(text: string): AsyncIterable<string> {
  yield text
}

function copyBytes(account: number, rows: ReturnType<typeof saleRow>[]): string {
  return rows.map((row) => `${[account, ...Object.values(row)].join('\t')}\n`).join('')
}

async function fill(service: BenchService, rows: number): Promise<void> {
  const { rows: counts } = await service.sql.query('select count(*) from sales')
  const missing = rows - Number(counts[0].count)
  for (let done = 0; done < missing; done += 100_000) {
    await copySales(service, copyBytes(service.account, salesOf(Math.min(100_000, missing - done))))
  }
  await service.sql.query('analyze sales')
}

function upsertMeasure(rows: number, floor: number, aim: number, present: number): Measure {
  return {
    name: `upsert ${rows} new sales, ${present} there`,
    unit: 'share',
    floor,
    aim,
    prepare: (service) => fill(service, present),
    ours: async (service) => {
      const body = JSON.stringify(salesOf(rows))
      return timed(() => service.post(salePath, body))
    },
    bare: (service) => copySales(service, copyBytes(service.account, salesOf(rows))),
  }
}

function resendMeasure(present: number): Measure {
  // The first send, of new rows, is the bare side: bare SQL does not know what to send again.
  let first = 0
  return {
    name: 'unchanged re-send of 10000 sales, speed against the first send',
    unit: 'share',
    floor: 1.4,
    aim: 2,
    prepare: (service) => fill(service, present),
    ours: async (service) => {
      const body = JSON.stringify(salesOf(10_000))
      first = await timed(() => service.post(salePath, body))
      return timed(() => service.post(salePath, body))
    },
    bare: async () => first,
  }
}

/** Rows of one call: few, so that the small table stays small. */
const growthRows = 1000

async function upserts(service: BenchService): Promise<number> {
  const times: number[] = []
  for (let call = 0; call < 5; call++) {
    const body = JSON.stringify(salesOf(growthRows))
    times.push(await timed(() => service.post(salePath, body)))
  }
  return median(times)
}

/** Rows after which a load has written to most pages of a large index since the last checkpoint. */
const loadedRows = 300_000

/**
 * The same upsert into a large table and into a small one of a second service, alternating. The first write to a
 * page after a checkpoint logs the whole page; with random keys that costs as much as the row, until the load has
 * touched all pages, and is shown apart. Runs last: the table stays large.
 */
export function growthMeasures(large: number): Measure[] {
  const small = 10_000
  let beside: BenchService | undefined
  const becomeLarge = async (service: BenchService) => {
    beside ??= await service.openBeside()
    await fill(service, large)
    // Otherwise autovacuum would clean up after earlier measures during this one.
    await service.sql.query('vacuum analyze')
    await service.sql.query('checkpoint')
  }
  const loadOn = async (service: BenchService) => {
    if (!beside) await becomeLarge(service)
    for (let rows = 0; rows < loadedRows; rows += 50_000)
      await service.post(salePath, JSON.stringify(salesOf(50_000)))
  }
  const intoSmall = async () => {
    const service = beside as BenchService
    await service.sql.query('truncate sales')
    await fill(service, small)
    return upserts(service)
  }
  const compared = { unit: 'times' as const, ours: upserts, bare: intoSmall }
  const name = `cost per row from ${small} to ${large} sales there`
  return [
    { ...compared, name: `${name}, right after a checkpoint`, prepare: becomeLarge },
    { ...compared, name, floor: 1.5, aim: 1.2, prepare: loadOn },
  ]
}

/** Loads sales, against COPY of prepared bytes. */
export const salesMeasures = (present: number): Measure[] => [
  upsertMeasure(10_000, 0.42, 0.55, present),
  upsertMeasure(100_000, 0.4, 0.6, present),
  resendMeasure(present),
]
