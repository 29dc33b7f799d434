import { isDeepStrictEqual } from 'node:util'
import type { Call } from '../../helpers/process.ts'
import { lowestPrice } from './lowest.ts'
import { type CellChange, type Cells, dimensions, type PriceListModel } from './model.ts'
import type { Choose } from './writes.ts'

interface Known {
  model: PriceListModel
  codes: string[]
  choose: Choose
  cells: Cells
}

/** Compares all that the service says of the past with the model. Throws at the first difference. */
export async function compareHistory(call: Call, id: number, known: Known) {
  const moments = await compareRevisions(call, id, known)
  const differences = await compareDifferences(call, id, known)
  const histories = await compareHistories(call, id, known, moments)
  const lowest = await compareLowest(call, id, known, moments)
  const changes = await compareChanges(call, id, known)
  return { differences, histories, lowest, changes }
}

async function read(call: Call, path: string, body?: unknown) {
  const answer = await call(body === undefined ? 'GET' : 'POST', path, body)
  if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`)
  return answer.body
}

function expectSame(what: string, found: unknown, expected: unknown): void {
  if (isDeepStrictEqual(found, expected)) return
  throw new Error(
    `${what} differs\nfound    ${JSON.stringify(found)}\nexpected ${JSON.stringify(expected)}`,
  )
}

/** Each revision, by its rows in two orders, by keys and whole. Returns the moments of the revisions. */
async function compareRevisions(call: Call, id: number, { model, codes, cells }: Known) {
  const moments = new Map<number, string>()
  const { results } = await read(call, `/api/v1/price_list/${id}/revisions/?limit=1000`)
  for (const { revision, at } of results) moments.set(revision, at)
  const voided = results.filter((one: { voided: boolean }) => one.voided)
  expectSame(
    'the mistakes',
    voided.map(({ revision }: { revision: number }) => revision).reverse(),
    [...model.voided].sort((a, b) => a - b),
  )
  for (let revision = 1; revision <= model.revision; revision++) {
    const rows = [...model.at(revision)].sort(([a], [b]) => (a < b ? -1 : 1))
    const shown = rows.map(([code, { prices }]) => {
      return { code, prices: { retail: prices.retail ?? 0, trade: prices.trade ?? 0 } }
    })
    for (const order of cells.isCalendar ? [] : ['code', '-price']) {
      const path = `/api/v1/price_list/${id}/rows?limit=1000&as_of=${revision}&order=${order}`
      const page = await read(call, path)
      const found = page.results.map(({ code, prices }: (typeof shown)[0]) => ({ code, prices }))
      found.sort((a: { code: string }, b: { code: string }) => (a.code < b.code ? -1 : 1))
      expectSame(`revision ${revision} by ${order}`, found, shown)
    }
    for (const dimension of dimensions) {
      const place = cells.place(dimension)
      for (const payload of [codes.map((code) => ({ code, country: 'UK', ...place })), [place]]) {
        const priced = await read(call, '/api/v1/prices/get_prices/', {
          ...{ price_list_id: id, as_of: revision, include: ['base_price'], payload },
        })
        expectSame(
          `get_prices of revision ${revision}`,
          priced.map((row: { code: string; base_price: number }) => [row.code, row.base_price]),
          shown.map(({ code, prices }) => [code, prices[dimension]]),
        )
      }
    }
  }
  return moments
}

async function compareDifferences(call: Call, id: number, { model, choose, cells }: Known) {
  const pairs = Array.from({ length: 3 * model.revision }, () => {
    const from = choose(model.revision + 1)
    return { from, to: Math.max(1, from + choose(model.revision + 1 - from)) }
  })
  for (const { from, to } of pairs) {
    const path = `/api/v1/price_list/${id}/diff/?from=${from}&to=${to}&limit=1000`
    const { results } = await read(call, path)
    const expected = model.difference(from, to, cells)
    expectSame(`the difference of ${from} and ${to}`, results.map(changeOf(cells)), expected)
  }
  return pairs.length
}

const changeOf =
  ({ dimensionOf }: Cells) =>
  ({ code, change, old, new: now, ...cell }: CellChange): CellChange => {
    return { code, price_dimension: dimensionOf(cell), change, old, new: now }
  }

async function compareHistories(
  call: Call,
  id: number,
  { model, codes, cells }: Known,
  moments: Map<number, string>,
) {
  const keys = codes.flatMap((code) =>
    dimensions.map((price_dimension) => ({ code, price_dimension })),
  )
  const payload = keys.map(({ code, price_dimension }) => ({
    ...{ code, country: 'UK' },
    ...cells.place(price_dimension),
  }))
  const found = await read(call, '/api/v1/prices/get_price_history/', {
    price_list_id: id,
    payload,
  })
  for (const [index, { code, price_dimension }] of keys.entries()) {
    const expected = model.history(code, price_dimension).map(({ price, from, to }) => {
      return { price, revision: from, to: to === null ? null : moments.get(to) }
    })
    const entries = found[index].history.map(
      ({ price, revision, to }: { price: number; revision: number; to: string | null }) => ({
        ...{ price, revision, to },
      }),
    )
    expectSame(`the history of ${code} ${price_dimension}`, entries, expected)
  }
  return keys.length
}

/** The lowest price before some days, and before the last reduction, of the rows that are in the list. */
async function compareLowest(
  call: Call,
  id: number,
  { model, choose, cells: { place } }: Known,
  moments: Map<number, string>,
) {
  const cells = [...model.at(model.revision).keys()].flatMap((code) =>
    dimensions.map((price_dimension) => ({ code, price_dimension })),
  )
  const payload = cells.map(({ code, price_dimension }) => ({
    ...{ code, country: 'UK' },
    ...place(price_dimension),
  }))
  for (let look = 0; look < 20; look++) {
    const date = new Date(Date.now() + (5 - choose(45)) * 86_400_000).toISOString().slice(0, 10)
    const options = { days: 1 + choose(40), ...(choose(3) > 0 && { before: date }) }
    const found = await read(call, '/api/v1/prices/get_prices/', {
      ...{ price_list_id: id, include: ['lowest_price'], lowest_price: options, payload },
    })
    for (const [index, cell] of cells.entries())
      expectSame(
        `the lowest price of ${JSON.stringify({ ...cell, ...options })}`,
        found[index].lowest_price,
        lowestPrice(model, moments, cell, options),
      )
  }
  return 20 * cells.length
}

/** Follows all changes in pages of random length. Short pages of large revisions are read by code. */
async function compareChanges(call: Call, id: number, { model, choose, cells }: Known) {
  const found: unknown[] = []
  for (let [after, more] = ['0', true]; more; ) {
    const limit = choose(2) === 0 ? 1 : 1 + choose(40)
    const path = `/api/v1/price_list/${id}/changes/?after=${after}&limit=${limit}`
    const page = await read(call, path)
    found.push(
      ...page.results.map((one: CellChange & { revision: number }) => [
        one.revision,
        changeOf(cells)(one),
      ]),
    )
    after = page.next
    more = page.has_more
  }
  const expected = Array.from({ length: model.revision }, (_, index) =>
    model.difference(index, index + 1, cells).map((one) => [index + 1, one]),
  ).flat()
  expectSame('the changes', found, expected)
  return found.length
}
