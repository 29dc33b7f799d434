import { codeOf, fillList, someIndexes } from './fill.ts'
import { timed, type Workload } from './measure.ts'
import type { Bench, Service } from './servers.ts'

const dimensions = ['retail', 'web']
const cellsOfCall = 100_000
const cellsOfRound = 10_000
const shown = (count: number) => count.toLocaleString('en')
const daysOfYear = 365

interface Cell {
  index: number
  dimension: number
  day: number
  price: number
}

const name = 'Calendar'

/** A list like that of the service, for bare SQL, with its row ids. */
interface BareList {
  list: number
  ids: number[]
}
let calendars: Promise<BareList> | undefined

/**
 * Calendar lists of two dimensions and 365 days: loaded by month, then updated and read at random. The naive build has
 * none; the floor works on a second list of the service.
 */
export const calendarWorkloads = (rows: number): Workload[] => [
  loadWorkload(rows),
  updateWorkload(rows),
  readWorkload(rows),
]

function prepare({ ours }: Bench, rows: number): Promise<BareList> {
  calendars ??= fillCalendars(ours, rows)
  return calendars
}

async function fillCalendars(service: Service, rows: number): Promise<BareList> {
  const settings = { rows, price_dimensions: dimensions, is_calendar: true }
  await fillList(service, name, settings)
  const list = await fillList(service, 'Calendar bare', settings)
  const { rows: found } = await service.sql.query(
    'select id::integer from price_list_rows where price_list_id = $1 order by code',
    [list],
  )
  return { list, ids: found.map(({ id }) => id) }
}

/** A round loads a month of all rows; twelve rounds are the whole load. */
function loadWorkload(rows: number): Workload {
  return {
    rows: [{ name: `load a month of ${shown(rows)} calendar rows x 2 dimensions`, unit: 'ms' }],
    prepare: (bench) => prepare(bench, rows),
    ours: async ({ ours }, round) => {
      const bodies = bodiesOf(monthCells(rows, round))
      const load = async () => {
        for (const body of bodies) await ours.post('/api/v1/prices/bulk_update_prices/', body)
      }
      return [await timed(load)]
    },
    floor: async (bench, round) => {
      const { account, sql } = bench.ours
      const { list, ids: rowIds } = await prepare(bench, rows)
      const keys = rowIds.flatMap((id) => dimensions.map((_, index) => [id, index + 1]))
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
      const values = [account, list, month, ids, places, months]
      return [await timed(() => sql.query(text, values))]
    },
  }
}

function updateWorkload(rows: number): Workload {
  return {
    rows: [
      {
        name: `update ${shown(cellsOfRound)} random cells of ${shown(rows)} x 2 x 365`,
        unit: 'ms',
      },
    ],
    prepare: (bench) => fillYear(bench, rows),
    ours: async ({ ours }) => {
      const [body = ''] = bodiesOf(randomCells(rows))
      return [await timed(() => ours.post('/api/v1/prices/bulk_update_prices/', body))]
    },
    floor: async (bench) => {
      const { account, sql } = bench.ours
      const text = `
        update calendar_months m set prices = array(
          select coalesce(given, kept)
          from unnest(i.prices::numeric[], m.prices) with ordinality as merged (given, kept, place) order by place)
        from unnest($3::bigint[], $4::integer[], $5::date[], $6::text[]) as i (row_id, dimension, month, prices)
        where m.account_id = $1 and m.price_list_id = $2 and m.row_id = i.row_id and m.dimension = i.dimension
          and m.month = i.month`
      const { list, cells } = await bareCells(bench, rows)
      const months = cells.map(({ place, price }) => {
        const prices = Array.from({ length: 31 }, (_, day) => (day + 1 === place ? price : 'NULL'))
        return `{${prices}}`
      })
      const values = [account, list, ...keysOf(cells), months]
      return [await timed(() => sql.query(text, values))]
    },
  }
}

function readWorkload(rows: number): Workload {
  return {
    rows: [
      { name: `read ${shown(cellsOfRound)} random cells of ${shown(rows)} x 2 x 365`, unit: 'ms' },
    ],
    prepare: (bench) => fillYear(bench, rows),
    ours: async ({ ours }) => {
      const [body = ''] = bodiesOf(randomCells(rows), false)
      return [await timed(() => ours.post('/api/v1/prices/get_prices/', body))]
    },
    floor: async (bench) => {
      const { account, sql } = bench.ours
      const text = `
        select r.id, r.product_id, m.prices[i.place] as price
        from unnest($3::bigint[], $4::integer[], $5::date[], $6::integer[]) as i (row_id, dimension, month, place)
        join price_list_rows r on r.account_id = $1 and r.price_list_id = $2 and r.id = i.row_id
        join calendar_months m on m.account_id = $1 and m.price_list_id = $2 and m.row_id = i.row_id
          and m.dimension = i.dimension and m.month = i.month`
      const { list, cells } = await bareCells(bench, rows)
      const values = [account, list, ...keysOf(cells), cells.map(({ place }) => place)]
      return [await timed(() => sql.query(text, values))]
    },
  }
}

async function fillYear(bench: Bench, rows: number): Promise<void> {
  await prepare(bench, rows)
  const { account, sql } = bench.ours
  await sql.query(
    `insert into calendar_months (account_id, price_list_id, row_id, dimension, month, prices)
     select $1, r.price_list_id, r.id, d, m::date, array_fill(9.99::numeric, array[31])
     from price_list_rows r, generate_series(1, 2) d,
       generate_series('2026-01-01'::timestamp, '2026-12-01', '1 month') m
     where r.account_id = $1 and r.price_list_id in (select id from price_lists where is_calendar)
     order by r.id, d, m on conflict do nothing`,
    [account],
  )
}

interface BareCell {
  row: number
  dimension: number
  month: string
  place: number
  price: number
}

/** Random cells for bare SQL, sorted. */
async function bareCells(bench: Bench, rows: number) {
  const { list, ids } = await prepare(bench, rows)
  const cells = randomCells(rows)
    .sort((a, b) => a.index - b.index)
    .map(({ index, dimension, day, price }): BareCell => {
      const date = dayText(day)
      const [month, place] = [`${date.slice(0, 7)}-01`, Number(date.slice(8))]
      return { row: ids[index] ?? 0, dimension, month, place, price }
    })
  return { list, cells }
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

function bodiesOf(cells: Cell[], withPrice = true): string[] {
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
    bodies.push(JSON.stringify({ price_list_name: name, payload }))
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
