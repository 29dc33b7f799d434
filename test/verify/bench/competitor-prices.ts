import { CopySource } from '../../../src/database/copy.ts'
import { fillCatalog } from './fill.ts'
import { type Measure, timed } from './measure.ts'
import { once, randomKey } from './sales.ts'
import type { BenchService } from './service.ts'

const path = '/api/v1/competitor_prices/bulk_create_or_update/'
const columns =
  'account_id, hash, code, dimensions, competitor_name, competitor_price, latest_update'

/** Loads entries keyed by code and country, against COPY of prepared bytes. */
export const competitorMeasures = (present: number): Measure[] => [
  {
    name: `upsert 10000 new competitor prices, ${present} there`,
    unit: 'share',
    floor: 0.4,
    aim: 0.55,
    prepare: (service) => fill(service, present),
    ours: (service) => {
      const entries = Array.from({ length: 10_000 }, () => ({
        code: randomKey(),
        country: 'UK',
        competitor_name: 'Rival Ltd',
        competitor_price: 2.55,
        latest_update: '2026-01-01T08:26:00Z',
      }))
      const body = JSON.stringify(entries)
      return timed(() => service.post(path, body))
    },
    bare: (service) => {
      const lines = Array.from({ length: 10_000 }, () => {
        const [code, hash] = [randomKey(), randomKey(32)]
        return `${service.account}\t\\\\x${hash}\t${code}\t{${code},UK}\tRival Ltd\t2.55\t2026-01-01 08:26:00Z\n`
      })
      const source = new CopySource(once(lines.join('')))
      return timed(() =>
        service.sql.query(`copy competitor_prices (${columns}) from stdin $1`, [source]),
      )
    },
  },
]

async function fill(service: BenchService, rows: number): Promise<void> {
  await fillCatalog(service, 1000)
  await service.call('POST', '/api/v1/competitor_prices/schema/create_schema/', {
    attributes_config: ['code', 'country'],
  })
  await service.sql.query(`
    insert into competitor_prices (${columns})
    select ${service.account}, sha256(i::text::bytea), md5(i::text), array[md5(i::text), 'UK'], 'Rival Ltd', 2.55, now()
    from generate_series(1, ${rows}) i`)
  await service.sql.query('vacuum analyze competitor_prices')
}
