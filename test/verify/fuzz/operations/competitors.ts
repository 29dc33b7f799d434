import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { chance, oneOf, someOf } from '../draw.ts'
import type { CompetitorSchema, Model } from '../model.ts'
import { type ColumnType, canonical, day, money, text, type Value } from '../values.ts'
import { expectEqual, type FuzzOperation, type Plan, segment, type World } from '../world.ts'
import { pagePlan } from './pages.ts'

type Entry = Record<string, unknown>

const path = '/api/v1/competitor_prices/schema/create_schema/'

/** Observations may not lie in the future. */
const pastDay = day.filter((one) => one < '2026-01-01')

/** A schema for an account without one, or the present schema again. */
export function competitorSchemaPlan({ draw, model }: World): Plan {
  const columns = [...model.columns.attributes, ...model.columns.extensions]
  const names = ['code', ...columns.map(({ name }) => name)]
  const present = model.competitors
  const isKept = present !== undefined && (present.entries.size > 0 || chance(draw, 70))
  const attributes_config = isKept
    ? present.dimensions.map(({ name }) => name)
    : someOf(draw, names, 1)
  const is_dated = isKept ? present.isDated : chance(draw, 50)
  return {
    call: {
      method: 'POST',
      path,
      body: { attributes_config, ...((is_dated || chance(draw, 50)) && { is_dated }) },
    },
    status: 201,
    check: ({ body }) => {
      if (!isKept) {
        const code = { name: 'code', type: 'string' as ColumnType }
        const dimensions = attributes_config.map(
          (name) => columns.find((one) => one.name === name) ?? code,
        )
        model.competitors = { dimensions, isDated: is_dated, entries: new Map() }
      }
      expectEqual(body.input, { dimensions: attributes_config }, 'competitor schema')
      expectEqual(body.output.total, model.competitors?.entries.size, 'number of entries')
      expectNewest(model, body.output.latest_update)
    },
  }
}

/** Entries without a time get that of the call; only its day can be checked. */
function expectNewest(model: Model, answered: string): void {
  const days = [...(model.competitors?.entries.values() ?? [])].map(
    ({ latest_update }) => latest_update,
  )
  if (days.length === 0 || days.includes(undefined)) return
  const newest = days.map(String).sort().at(-1)?.slice(0, 10)
  expectEqual(answered, newest, 'day of the newest entry')
}

const textOf = (value: Value): string =>
  typeof value === 'number' ? canonical(value) : String(value)

function entryRow(
  world: World,
  { dimensions, isDated }: CompetitorSchema,
): { sent: Entry; hash: string; read: Entry } {
  const { draw, model } = world
  const values = dimensions.map(({ name }) =>
    oneOf(draw, name === 'code' ? model.codes : (model.pools.get(name) ?? [])),
  )
  const columns = Object.fromEntries(
    dimensions.map(({ name }, index) => [name, textOf(values[index] as Value)]),
  )
  const departure = isDated && chance(draw, 60) ? draw(day) : undefined
  const update = chance(draw, 70) ? draw(pastDay) : undefined
  const name = chance(draw, 60) ? oneOf(draw, ['Rival', 'rival', 'Ríval & Co']) : draw(text)
  const key = [...values, name, departure ?? null]
  const fields = {
    ...columns,
    competitor_name: name,
    competitor_price: draw(money),
    ...(departure && { departure_date: departure }),
  }
  return {
    sent: { ...fields, ...(update && { latest_update: update }) },
    hash: createHash('sha256').update(JSON.stringify(key)).digest('hex'),
    read: { ...fields, ...(update && { latest_update: `${update}T00:00:00.000Z` }) },
  }
}

function entriesPlan(world: World, schema: CompetitorSchema): Plan & { rows: Entry[] } {
  const drawn = Array.from({ length: world.draw(fc.integer({ min: 1, max: 4 })) }, () =>
    entryRow(world, schema),
  )
  const entries = [...new Map(drawn.map((entry) => [entry.hash, entry])).values()]
  const rows = entries.map(({ sent }) => sent)
  return {
    call: { method: 'POST', path: '/api/v1/competitor_prices/bulk_create_or_update/', body: rows },
    status: 201,
    rows,
    check: ({ body }) => {
      const isKnown = ({ hash }: { hash: string }) => schema.entries.has(hash)
      const [known, fresh] = [entries.filter(isKnown), entries.filter((entry) => !isKnown(entry))]
      const hashes = (some: { hash: string }[]) => some.map(({ hash }) => hash)
      expectEqual(body, { created: hashes(fresh), updated: hashes(known) }, 'hashes of entries')
      for (const { hash, read } of entries) schema.entries.set(hash, { hash, ...read })
    },
  }
}

function faulty(world: World): Plan {
  const { draw, model } = world
  const schema = model.competitors as CompetitorSchema
  const { rows, ...plan } = entriesPlan(world, schema)
  const at = draw(fc.nat({ max: rows.length - 1 }))
  const row = rows[at] as Entry
  const column = oneOf(draw, schema.dimensions)
  const wrong: Record<ColumnType, string> = {
    string: '',
    integer: '1.5',
    number: '1,5',
    boolean: 'TRUE',
    date: '2026-02-30',
  }
  // The contract's own schema refuses an empty code.
  const code = column.type === 'string' ? 'length' : 'format'
  const changes: [object, string, string][] = [
    [{ 'no/such': 'x' }, 'no~1such', 'unknown_key'],
    [{ [column.name]: wrong[column.type] }, segment(column.name), code],
    [{ [column.name]: undefined }, segment(column.name), 'required'],
    ...(schema.isDated
      ? []
      : ([[{ departure_date: '2026-01-01' }, 'departure_date', 'not_allowed']] as [
          object,
          string,
          string,
        ][])),
  ]
  const [change, field, fault] = oneOf(draw, changes)
  Object.assign(row, change)
  return { ...plan, status: 400, faults: [[`/${at}/${field}`, fault]] }
}

/** An entry as it is read; the time of the call is not compared. */
const withoutTime = (read: Entry) => {
  const { id: _, latest_update: time, ...rest } = read
  return { ...rest, time: String(time).slice(11) === '00:00:00.000Z' ? time : 'now' }
}

export const competitorOperations: FuzzOperation[] = [
  {
    id: 'createCompetitorSchema',
    weight: 2,
    valid: competitorSchemaPlan,
    faulty: (world) => ({
      ...competitorSchemaPlan(world),
      call: { method: 'POST', path, body: { attributes_config: ['code', 'no such'] } },
      status: 400,
      faults: [['/attributes_config/1', 'unknown_column']],
    }),
  },
  {
    id: 'readCompetitorSchema',
    weight: 1,
    isReady: ({ competitors }) => competitors !== undefined,
    valid: ({ model }) => ({
      call: { method: 'GET', path: '/api/v1/competitor_prices/schema/' },
      status: 200,
      check: ({ body }) => {
        const { dimensions, isDated } = model.competitors as CompetitorSchema
        expectEqual(
          body.input,
          { dimensions: dimensions.map(({ name }) => name) },
          'competitor schema',
        )
        expectEqual(body.is_dated, isDated, 'is_dated')
        expectNewest(model, body.output.latest_update)
      },
    }),
  },
  {
    id: 'upsertCompetitorPrices',
    weight: 4,
    isReady: ({ competitors }) => competitors !== undefined,
    valid: (world) => entriesPlan(world, world.model.competitors as CompetitorSchema),
    faulty,
  },
  {
    id: 'listCompetitorPrices',
    weight: 3,
    valid: ({ draw, model }) => {
      const all = [...(model.competitors?.entries.values() ?? [])]
      const names = all.map(({ competitor_name }) => String(competitor_name))
      const competitor_name = chance(draw, 40) && names.length > 0 ? oneOf(draw, names) : undefined
      const code = chance(draw, 20) ? oneOf(draw, model.codes) : undefined
      const isCoded = model.competitors?.dimensions.some(({ name }) => name === 'code')
      const found = all
        .filter(
          (entry) => competitor_name === undefined || entry.competitor_name === competitor_name,
        )
        .filter((entry) => code === undefined || (isCoded && entry.code === code))
      // The load does not return ids and writes rows in the order of their hashes: pages are compared as sets.
      const plan = pagePlan(draw, '/api/v1/competitor_prices/', { competitor_name, code }, [])
      const [base = '', query = ''] = plan.call.path.split('?')
      const given = new URLSearchParams(query)
      for (const name of ['offset', 'limit']) given.delete(name)
      given.set('limit', '1000')
      return {
        call: { method: 'GET', path: `${base}?${given}` },
        status: 200,
        check: ({ body }) => {
          const order = (a: object, b: object) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)
          const sorted = (some: Entry[]) =>
            some
              .map(({ hash, ...rest }) => withoutTime({ hash, ...rest }))
              .map((one) => Object.fromEntries(Object.entries(one).sort()))
              .sort(order)
          expectEqual(sorted(body.results), sorted(found), 'competitor prices')
          expectEqual(body.count, found.length, 'count of competitor prices')
        },
      }
    },
  },
]
