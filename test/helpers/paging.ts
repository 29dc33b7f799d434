import type { Test } from 'tap'
import type { TestAccount } from './service.ts'

const faults: [query: string, code: string][] = [
  ['offset=-1', 'range'],
  ['offset=1.5', 'type'],
  ['offset=x', 'type'],
  ['offset=', 'type'],
  ['offset=9007199254740993', 'range'],
  ['limit=0', 'range'],
  ['limit=-1', 'range'],
  ['limit=1001', 'range'],
  ['limit=x', 'type'],
  ['limit=2.5', 'type'],
  ['limit=1&limit=2', 'type'],
  ['limit=0x10', 'type'],
  ['limit=1e2', 'type'],
  ['limit=5.0', 'type'],
  ['offset=%201', 'type'],
  ['offset=%2B1', 'type'],
]

/** Checks the paging of a list operation; `path` has 26 to 1,000 results, ordered by `id`. */
export async function expectPaging(t: Test, { get }: TestAccount, path: string, id: string) {
  const all = (await get(`${path}?limit=1000`)).body
  const ids = all.results.map((result: Record<string, number>) => result[id])
  t.equal(all.count, ids.length)
  t.strictSame(
    ids,
    [...ids].sort((a: number, b: number) => a - b),
    'in the order of ids',
  )
  const page = async (query: string) => {
    const { status, body } = await get(`${path}${query}`)
    t.strictSame([status, body.count], [200, all.count], query)
    return body.results
  }
  t.strictSame(await page(''), all.results.slice(0, 25), 'offset 0 and limit 25 by default')
  t.strictSame(await page('?offset=3&limit=2'), all.results.slice(3, 5))
  t.strictSame(await page(`?offset=${ids.length - 1}&limit=2`), all.results.slice(-1))
  t.strictSame(await page('?offset=9007199254740991'), [])
  for (const [query, code] of faults) {
    const { status, body } = await get(`${path}?${query}`)
    t.strictSame([status, body.type], [400, 'invalid-request'], query)
    const [error] = body.errors
    t.strictSame([error.pointer, error.code], [`/query/${query.split('=')[0]}`, code], query)
  }
}
