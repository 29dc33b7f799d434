import fc from 'fast-check'
import { chance, type Draw, oneOf, someOf } from '../draw.ts'
import type { Agreement } from '../model.ts'
import { day, money, text } from '../values.ts'
import { expectEqual, type FuzzOperation, type Plan, type World } from '../world.ts'
import { absentId, absentPlan, pagePlan } from './pages.ts'

type Fields = Record<string, unknown>

/** The key of an agreement as a text. */
function keyOf({ name, client_code, price_list_code, price_line }: Fields): string {
  return JSON.stringify([
    name,
    client_code,
    price_list_code,
    Object.entries(price_line as object).sort(),
  ])
}

const priceNames = ['retail', 'constructor', '1', 'a/b~c']
const lineKeys = ['product_code', 'attribute_1', 'é"\\']

function somePrices(draw: Draw): Fields {
  const names = someOf(draw, priceNames, 1, 2)
  const ofDay = fc.uniqueArray(day, { minLength: 1, maxLength: 2 })
  return Object.fromEntries(
    names.map((name) => [
      name,
      chance(draw, 60)
        ? draw(money)
        : Object.fromEntries(draw(ofDay).map((date) => [date, draw(money)])),
    ]),
  )
}

function agreementInput({ draw }: World): Fields {
  const value = fc.oneof(text, money, fc.boolean())
  const line = someOf(draw, lineKeys, 1, 2).map((key) => [
    key,
    chance(draw, 70) ? 'A' : draw(value),
  ])
  return {
    name: oneOf(draw, ['frame', 'Frame', 'früh']),
    client_code: oneOf(draw, ['1', '01']),
    price_list_code: oneOf(draw, ['Retail', 'x']),
    price_line: Object.fromEntries(line),
    prices: somePrices(draw),
  }
}

function upsertPlan(world: World): Plan & { rows: Fields[] } {
  const inputs = Array.from({ length: world.draw(fc.integer({ min: 1, max: 3 })) }, () =>
    agreementInput(world),
  )
  const rows = [...new Map(inputs.map((input) => [keyOf(input), input])).values()]
  return {
    call: { method: 'POST', path: '/api/v1/agreement/bulk_create_or_update', body: rows },
    status: 200,
    rows,
    check: async ({ body }, { model, send }) => {
      expectEqual(body, {}, 'answer of the upsert')
      const { body: page } = await send({ method: 'GET', path: '/api/v1/agreement/?limit=1000' })
      const ids = new Map(page.results.map((one: Fields) => [keyOf(one), one.id]))
      for (const row of rows) {
        const present = model.agreements.find(({ fields }) => keyOf(fields) === keyOf(row))
        if (!present)
          model.agreements.push({ id: ids.get(keyOf(row)) as number, version: 1, fields: row })
        else if (!isSame(present.fields.prices, row.prices)) {
          present.fields = row
          present.version++
        }
      }
      expectEqual(page.count, model.agreements.length, 'number of agreements')
    },
  }
}

const isSame = (a: unknown, b: unknown) => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b))

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .map(([key, item]) => [key, sorted(item)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
}

/** JSON Merge Patch (RFC 7396), with one more level written out. */
function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null) return patch
  const base = typeof target === 'object' && target !== null ? target : {}
  const keys = [...new Set([...Object.keys(base), ...Object.keys(patch)])]
  const pairs = keys.flatMap((key): [string, unknown][] => {
    const held = (base as Fields)[key]
    if (!Object.hasOwn(patch, key)) return [[key, held]]
    const given = (patch as Fields)[key]
    return given === null ? [] : [[key, merge(Object.hasOwn(base, key) ? held : undefined, given)]]
  })
  return Object.fromEntries(pairs)
}

function patchPlan(world: World): Plan {
  const { draw, model } = world
  const agreement = oneOf(draw, model.agreements)
  const patch: Fields = {
    ...(chance(draw, 60) && { prices: somePrices(draw) }),
    ...(chance(draw, 20) && { client_code: draw(text) }),
    ...(chance(draw, 20) && { price_line: { [oneOf(draw, lineKeys)]: draw(text) } }),
  }
  const merged = merge(agreement.fields, patch) as Fields
  const isTaken = model.agreements.some(
    (other) => other !== agreement && keyOf(other.fields) === keyOf(merged),
  )
  const etag = chance(draw, 40)
    ? { 'if-match': oneOf(draw, [`"${agreement.version}"`, '*', `"0", "${agreement.version}"`]) }
    : {}
  const type = chance(draw, 20) ? { 'content-type': 'application/merge-patch+json' } : {}
  const call = {
    method: 'PATCH',
    path: `/api/v1/agreement/${agreement.id}`,
    body: patch,
    headers: { ...etag, ...type },
  }
  if (isTaken) return { call, status: 409, type: 'agreement-exists' }
  return {
    call,
    status: 200,
    check: ({ body, headers }) => {
      if (!isSame(agreement.fields, merged)) agreement.version++
      agreement.fields = merged
      expectEqual(body, { id: agreement.id, ...merged }, 'patched agreement')
      expectEqual(headers.etag, `"${agreement.version}"`, 'its ETag')
    },
  }
}

function faultyPatch({ draw, model, foreign }: World): Plan {
  const { id, version, fields } = oneOf(draw, model.agreements)
  const call = (body: Fields, headers = {}) => ({
    method: 'PATCH',
    path: `/api/v1/agreement/${id}`,
    body,
    headers,
  })
  const emptied = Object.fromEntries(Object.keys(fields.prices as object).map((key) => [key, null]))
  return oneOf(draw, [
    (): Plan => ({
      ...absentPlan('PATCH', `/api/v1/agreement/${absentId(draw, foreign.agreement)}`),
      call: { ...call({}), path: `/api/v1/agreement/${absentId(draw, foreign.agreement)}` },
    }),
    (): Plan => ({ call: call({ name: null }), status: 400, faults: [['/name', 'required']] }),
    (): Plan => ({ call: call({ prices: emptied }), status: 400, faults: [['/prices', 'length']] }),
    (): Plan => ({
      call: call({ client_code: 'other' }, { 'if-match': `"${version + 1}"` }),
      status: 412,
      type: 'precondition-failed',
    }),
  ])()
}

const shown = ({ id, fields }: Agreement) => ({ id, ...fields })

export const agreementOperations: FuzzOperation[] = [
  {
    id: 'upsertAgreements',
    weight: 4,
    valid: upsertPlan,
    faulty: (world) => {
      const { rows, ...plan } = upsertPlan(world)
      rows.push({ ...(rows[0] as Fields), prices: { other: 1 } })
      return { ...plan, status: 400, faults: [[`/${rows.length - 1}`, 'duplicate_row']] }
    },
  },
  {
    id: 'listAgreements',
    weight: 3,
    valid: ({ draw, model }) => {
      const client_code = chance(draw, 30) ? oneOf(draw, ['1', '01']) : undefined
      const name = chance(draw, 30) ? oneOf(draw, ['frame', 'früh']) : undefined
      const all = model.agreements
        .filter(({ fields }) => client_code === undefined || fields.client_code === client_code)
        .filter(({ fields }) => name === undefined || fields.name === name)
        .sort((a, b) => a.id - b.id)
      return pagePlan(draw, '/api/v1/agreement/', { client_code, name }, all.map(shown))
    },
  },
  {
    id: 'readAgreement',
    weight: 2,
    isReady: ({ agreements }) => agreements.length > 0,
    valid: ({ draw, model }) => {
      const agreement = oneOf(draw, model.agreements)
      return {
        call: { method: 'GET', path: `/api/v1/agreement/${agreement.id}` },
        status: 200,
        check: ({ body, headers }) => {
          expectEqual(body, shown(agreement), 'agreement')
          expectEqual(headers.etag, `"${agreement.version}"`, 'its ETag')
        },
      }
    },
    faulty: ({ draw, foreign }) =>
      absentPlan('GET', `/api/v1/agreement/${absentId(draw, foreign.agreement)}`),
  },
  {
    id: 'updateAgreement',
    weight: 9,
    isReady: ({ agreements }) => agreements.length > 0,
    valid: patchPlan,
    faulty: faultyPatch,
  },
]
