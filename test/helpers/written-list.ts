import type { TestAccount, TestService } from './service.ts'
import { addProducts, aList, aShop, setPrices } from './shop.ts'

const codes = Array.from({ length: 12 }, (_, index) => `P${index}`)
const dimensions = ['retail', 'trade']
const pricesPath = '/api/v1/prices/get_prices/'
const promotionsPath = '/api/v1/promotions/bulk_create_or_update/'
const catalogPath = '/api/v1/product_catalog/bulk_create_or_update/'
const key = (code: string) => ({ code, country: 'UK' })
type Tap = Parameters<typeof aShop>[0]
type Key = { code: string; country: string; price_dimension: string; date?: string }

/** Numbers from 0 to `below`, the same in each run. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return Math.floor((state / 2 ** 31) * below)
  }
}

/** What a list shows at a revision: by keys, by a wildcard, page by page and as a file. */
export async function shownBy(shop: TestAccount, id: number, { keys, asOf }: Shown) {
  const past = asOf === undefined ? {} : { as_of: asOf }
  const query = new URLSearchParams({
    limit: '1000',
    ...(asOf !== undefined && { as_of: `${asOf}` }),
  })
  const read = async (payload: object[]) => {
    const { status, body, headers } = await shop.post(pricesPath, {
      price_list_id: id,
      promotion_date: '2026-05-05',
      include: ['base_price'],
      payload,
      ...past,
    })
    if (status >= 300) throw new Error(JSON.stringify(body).slice(0, 500))
    return { body, revision: headers['price-list-revision'] }
  }
  const [{ date, price_dimension } = {} as Key] = keys
  const rows = await shop.get(
    `/api/v1/price_list/${id}/rows?${query}${date ? `&date=${date}` : ''}`,
  )
  const file = await shop.send('GET', `/api/v1/price_list/${id}/rows?${query}`, undefined, {
    accept: 'application/x-ndjson',
  })
  const withoutCosts = ({ margin: _, dynamic_attributes: __, ...row }: Record<string, unknown>) =>
    row
  return {
    exact: await read(keys),
    open: await read([{ price_dimension, ...(date && { date }) }]),
    rows: rows.body.results.map(withoutCosts),
    count: rows.body.count,
    revision: rows.headers['price-list-revision'],
    file: file.body
      .split('\n')
      .filter(Boolean)
      .map((line: string) => withoutCosts(JSON.parse(line))),
  }
}

interface Shown {
  keys: Key[]
  asOf?: number | string
}

/** Writes a list at random, and remembers what it showed after each write. */
export async function aWrittenList(
  t: Tap,
  service: TestService,
  { is_calendar, seed, writes, cellsAtOnce }: Written,
) {
  const below = numbers(seed)
  const shop = await aShop(t, service, { codes, countries: ['UK'] })
  const list = await aList(shop, { name: 'L', is_calendar, price_dimensions: dimensions })
  const dates = is_calendar ? ['2026-01-31', '2026-02-01', '2026-02-28'] : [undefined]
  const keys = codes.flatMap((code) =>
    dimensions.flatMap((price_dimension) =>
      dates.map((date) => ({ ...key(code), price_dimension, ...(date && { date }) })),
    ),
  )
  await addProducts(shop, 'L', codes.slice(0, 8).map(key))
  const shown = new Map<string, ShownRows>()
  const remember = async () => {
    const seen = await shownBy(shop, list.id, { keys })
    shown.set(String(seen.revision), seen)
  }
  await remember()
  for (let write = 0; write < writes; write++) {
    const kind = below(8)
    if (kind === 0) {
      await shop.post(catalogPath, [{ ...key(codes[below(12)] as string), active: below(2) === 0 }])
      await shop.post('/api/v1/prices/sync_with_catalog/', { price_list_name: 'L' })
    } else if (kind === 1) {
      const value = below(90)
      const promotion = { name: `p${below(3)}`, kind: 'percentage', value }
      await shop.post(promotionsPath, [
        { ...promotion, valid_from: '2026-01-01', valid_to: '2026-12-31' },
      ])
      continue
    } else if (kind === 2) {
      const payload = [key(codes[below(12)] as string)]
      await shop.post('/api/v1/prices/bulk_remove_products/', { price_list_name: 'L', payload })
    } else if (kind === 3) {
      const revision = 1 + below(shown.size)
      const call = { revision, on_conflict: 'skip' }
      const { status, body } = await shop.post(`/api/v1/price_list/${list.id}/revert/`, call)
      if (status !== 201) throw new Error(JSON.stringify(body))
    } else {
      const members = new Set(
        (await shop.get(`/api/v1/price_list/${list.id}/rows?limit=100`)).body.results.map(
          (row: Key) => row.code,
        ),
      )
      const cells = keys.filter(({ code }) => members.has(code) && below(keys.length) < cellsAtOnce)
      await setPrices(
        shop,
        'L',
        cells.map((cell) => ({ ...cell, price: 1 + below(3) })),
      )
    }
    await remember()
  }
  return { shop, list, keys, shown }
}

export interface Written {
  is_calendar: boolean
  seed: number
  writes: number
  /** Of all cells. */
  cellsAtOnce: number
}

export type ShownRows = Awaited<ReturnType<typeof shownBy>>
