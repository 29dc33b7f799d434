import fc from 'fast-check'
import type { TestResponse } from '../../../helpers/conformant.ts'
import { chance, type Draw } from '../draw.ts'
import { expectEqual, type Plan, withQuery } from '../world.ts'

/** Behind which result a page begins, if not with the first. */
export function somePlace(draw: Draw, ids: number[]): { after?: number; skipped: number } {
  if (ids.length === 0 || chance(draw, 75)) return { skipped: 0 }
  const place = draw(fc.nat({ max: ids.length - 1 }))
  return { after: ids[place] as number, skipped: place + 1 }
}

/** A page of a list; `all` are the filtered results in their order, of which the first may be skipped. */
export function pagePlan(
  draw: Draw,
  path: string,
  filters: Record<string, string | number | undefined>,
  all: readonly unknown[],
  normalize: (result: never) => unknown = (result) => result,
  skipped = 0,
): Plan {
  const offset = chance(draw, 50) ? draw(fc.nat({ max: all.length + 2 })) : undefined
  const limit = chance(draw, 50) ? draw(fc.integer({ min: 1, max: 10 })) : undefined
  const from = skipped + (offset ?? 0)
  const check = ({ body }: TestResponse) => {
    const expected = { count: all.length, results: all.slice(from, from + (limit ?? 25)) }
    const results = body.results.map(normalize)
    expectEqual({ count: body.count, results }, expected, `page of ${path}`)
  }
  return {
    call: { method: 'GET', path: withQuery(path, { offset, limit, ...filters }) },
    status: 200,
    check,
  }
}

/** The other account's id, or one that does not exist. */
export function absentId(draw: Draw, foreign: number): number {
  return chance(draw, 50) ? foreign : draw(fc.constantFrom(9007199254740991, 999_999_999))
}

/** A GET by an id that is not this account's. */
export function absentPlan(method: string, path: string, type = 'not-found'): Plan {
  return { call: { method, path }, status: 404, type }
}
