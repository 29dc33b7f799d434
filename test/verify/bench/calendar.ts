import { type BenchList, codeOf, fillCatalog, fillList, someIndexes } from './fill.ts'
import { type Measure, timed } from './measure.ts'
import type { BenchService } from './service.ts'

const dimensions = ['retail', 'web']
const cellsOfCall = 100_000
const cellsOfRound = 10_000
const daysOfYear = 365

interface Cell {
  index: number
  dimension: number
  day: number
  price: number
}

/** Two equal calendar lists with their row ids: one for the service, one for bare SQL. */
interface Calendars {
  ours: BenchList
  bare: BenchList
  bareIds: number[]
}
let calendars: Calendars | undefined

/** Calendar lists of two dimensions and 365 days: loaded by month, then updated and read at random. */
export const calendarMeasures = (rows: number): Measure[] => [
  loadMeasure(rows),
  updateMeasure(rows),
  readMeasure(rows),
]

async function prepare(service: BenchService, rows: number): Promise<Calendars> {
  if (calendars) return calendars
  await fillCatalog(service, rows)
  const settings = { rows, price_dimensions: dimensions, is_calendar: true }
  const ours = await fillList(service, 'Calendar', settings)
  const bare = await fillList(service, 'Calendar bare', settings)
  const { rows: ids } = await service.sql.query(
    'select id::integer from price_list_rows where price_list_id = $1 order by code',
    [bare.id],
  )
  calendars = { ours, bare, bareIds: ids.map(({ id }) => id) }
  return calendars
}

/** A round loads a month of all rows; twelve rounds are the whole load. */
function loadMeasure(rows: number): Measure {
  return {
    name: `load a month of ${rows} calendar rows x 2 dimensions`,
    unit: 'times',
    prepare: async (service) => void (await prepare(service, rows)),
    ours: async (service, round) => {
      const { ours } = await prepare(service, rows)
      const bodies = bodiesOf(ours, monthCells(rows, round))
      return timed(async () => {
        for (const body of bodies) await service.post('/api/v1/prices/bulk_update_prices/', body)
      })
    },
    bare: async (service, round) => {
      const { bare, bareIds } = await prepare(service, rows)
      const keys = bareIds.flatMap((id) => dimensions.map((_, index) => [id, index + 1]))
      const days = daysOfMonth(round).length
      const months = keys.map(
        () =>
          `{${Array.from({ length: 31 }, (_, day) => (day < days ? somePrice() : 0)).join(',')}}`,
      )
      const text = `
        insert into calendar_months (account_id, price_list_id, row_id, dimension, month, prices)
        select $1, $2, row_id, dimension, $3, prices::numeric[]
        from unnest($4::bigint[], $5::integer[], $6::text[]) as input (row_id, dimension, prices)`
      const [ids, places] = [keys.map(([id]) => id), keys.map(([, place]) => place)]
      const month = dayText(daysOfMonth(round)[0] ?? 0)
      const values = [service.account, bare.id, month, ids, places, months]
      return timed(() => service.sql.query(text, values))
    },
  }
}

function updateMeasure(rows: number): Measure {
  return {
    name: `update ${cellsOfRound} random cells of ${rows} x 2 x 365`,
    unit: 'times',
    prepare: (service) => fillYear(service, rows),
    ours: async (service) => {
      const { ours } = await prepare(service, rows)
      const [body = ''] = bodiesOf(ours, randomCells(rows))
      return timed(() => service.post('/api/v1/prices/bulk_update_prices/', body))
    },
    bare: async (service) => {
      const text = `
        update calendar_months m set prices = array(
          select coalesce(given, kept)
          from unnest(i.prices::numeric[], m.prices) with ordinality as merged (given, kept, place) order by place)
        from unnest($3::bigint[], $4::integer[], $5::date[], $6::text[]) as i (row_id, dimension, month, prices)
        where m.account_id = $1 and m.price_list_id = $2 and m.row_id = i.row_id and m.dimension = i.dimension
          and m.month = i.month`
      const { list, cells } = await bareCells(service, rows)
      const months = cells.map(({ place, price }) => {
        const prices = Array.from({ length: 31 }, (_, day) => (day + 1 === place ? price : 'NULL'))
        return `{${prices}}`
      })
      const values = [service.account, list, ...keysOf(cells), months]
      return timed(() => service.sql.query(text, values))
    },
  }
}

function readMeasure(rows: number): Measure {
  return {
    name: `read ${cellsOfRound} random cells of ${rows} x 2 x 365`,
    unit: 'times',
    prepare: (service) => fillYear(service, rows),
    ours: async (service) => {
      const { ours } = await prepare(service, rows)
      const [body = ''] = bodiesOf(ours, randomCells(rows), false)
      return timed(() => service.post('/api/v1/prices/get_prices/', body))
    },
    bare: async (service) => {
      const text = `
        select r.id, r.product_id, m.prices[i.place] as price
        from unnest($3::bigint[], $4::integer[], $5::date[], $6::integer[]) as i (row_id, dimension, month, place)
        join price_list_rows r on r.account_id = $1 and r.price_list_id = $2 and r.id = i.row_id
        join calendar_months m on m.account_id = $1 and m.price_list_id = $2 and m.row_id = i.row_id
          and m.dimension = i.dimension and m.month = i.month`
      const { list, cells } = await bareCells(service, rows)
      const values = [service.account, list, ...keysOf(cells), cells.map(({ place }) => place)]
      return timed(() => service.sql.query(text, values))
    },
  }
}

async function fillYear(service: BenchService, rows: number): Promise<void> {
  const { ours, bare } = await prepare(service, rows)
  await service.sql.query(
    `insert into calendar_months (account_id, price_list_id, row_id, dimension, month, prices)
     select $1, r.price_list_id, r.id, d, m::date, array_fill(9.99::numeric, array[31])
     from price_list_rows r, generate_series(1, 2) d,
       generate_series('2026-01-01'::timestamp, '2026-12-01', '1 month') m
     where r.price_list_id = any($2) order by r.id, d, m
     on conflict do nothing`,
    [service.account, [ours.id, bare.id]],
  )
  await service.sql.query('vacuum analyze calendar_months')
}

interface BareCell {
  row: number
  dimension: number
  month: string
  place: number
  price: number
}

/** Random cells for bare SQL, sorted. */
async function bareCells(service: BenchService, rows: number) {
  const { bare, bareIds } = await prepare(service, rows)
  const cells = randomCells(rows)
    .sort((a, b) => a.index - b.index)
    .map(({ index, dimension, day, price }): BareCell => {
      const date = dayText(day)
      const [month, place] = [`${date.slice(0, 7)}-01`, Number(date.slice(8))]
      return { row: bareIds[index] ?? 0, dimension, month, place, price }
    })
  return { list: bare.id, cells }
}

const keysOf = (cells: BareCell[]) => [
  cells.map(({ row }) => row),
  cells.map(({ dimension }) => dimension),
  cells.map(({ month }) => month),
]

function monthCells(rows: number, month: number): Cell[] {
  const days = daysOfMonth(month)
  return Array.from({ length: rows }, (_, index) => index).flatMap((index) =>
    dimensions.flatMap((_, place) =>
      days.map((day) => ({ index, dimension: place + 1, day, price: somePrice() })),
    ),
  )
}

function randomCells(rows: number): Cell[] {
  const all = rows * dimensions.length * daysOfYear
  return someIndexes(cellsOfRound, all).map((place) => ({
    day: place % daysOfYear,
    index: Math.floor(place / daysOfYear / dimensions.length),
    dimension: (Math.floor(place / daysOfYear) % dimensions.length) + 1,
    price: somePrice(),
  }))
}

function bodiesOf(list: BenchList, cells: Cell[], withPrice = true): string[] {
  const bodies: string[] = []
  for (let from = 0; from < cells.length; from += cellsOfCall) {
    const payload = cells
      .slice(from, from + cellsOfCall)
      .map(({ index, dimension, day, price }) => ({
        code: codeOf(index),
        country: 'UK',
        price_dimension: dimensions[dimension - 1],
        date: dayText(day),
        ...(withPrice && { price }),
      }))
    bodies.push(JSON.stringify({ price_list_name: list.name, payload }))
  }
  return bodies
}

const somePrice = () => Math.round(Math.random() * 1e6) / 100
const dayText = (day: number) => new Date(Date.UTC(2026, 0, 1 + day)).toISOString().slice(0, 10)

function daysOfMonth(month: number): number[] {
  const prefix = `2026-${String(month + 1).padStart(2, '0')}`
  const days = Array.from({ length: daysOfYear }, (_, day) => day)
  return days.filter((day) => dayText(day).startsWith(prefix))
}
