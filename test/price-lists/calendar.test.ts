import fc from 'fast-check'
import t from 'tap'
import {
  horizonDays,
  isInCalendar,
  lastCalendarDay,
  monthPlace,
  today,
} from '../../src/price-lists/calendar.ts'

const dayMs = 86_400_000
const plusDays = (date: string, days: number) =>
  new Date(Date.parse(`${date}T00:00:00Z`) + days * dayMs).toISOString().slice(0, 10)

t.test('the last day is 364 days after the first, whatever lies between', async (t) => {
  const cases: [first: string, last: string][] = [
    ['2025-01-01', '2025-12-31'],
    ['2024-01-01', '2024-12-30'],
    ['2024-02-29', '2025-02-27'],
    ['2023-03-01', '2024-02-28'],
    ['2023-03-02', '2024-02-29'],
    ['2024-03-01', '2025-02-28'],
    ['2026-12-31', '2027-12-30'],
    ['1999-12-31', '2000-12-29'],
    ['1900-01-01', '1900-12-31'],
    ['0001-01-01', '0001-12-31'],
    ['0099-12-31', '0100-12-30'],
    ['9999-01-01', '9999-12-31'],
    ['9999-12-31', '9999-12-31'],
  ]
  for (const [first, last] of cases) t.equal(lastCalendarDay(first), last, first)
})

t.test('a calendar has exactly 365 days, in one piece', async (t) => {
  for (const first of [
    '2024-01-01',
    '2024-02-29',
    '2023-03-01',
    '2026-11-27',
    '0001-01-01',
    '0099-06-01',
  ]) {
    const days = Array.from({ length: horizonDays }, (_, index) => plusDays(first, index))
    t.ok(
      days.every((day) => isInCalendar(day, first)),
      first,
    )
    t.equal(days.at(-1), lastCalendarDay(first), first)
    t.notOk(isInCalendar(plusDays(first, 365), first), `the day after the last of ${first}`)
    if (first > '0001-01-01')
      t.notOk(isInCalendar(plusDays(first, -1), first), `the day before ${first}`)
  }
})

t.test('a day is in the calendar when it is 0 to 364 days after the first', async (t) => {
  const starts = fc
    .integer({ min: Date.UTC(200), max: Date.UTC(9000) })
    .map((time) => new Date(time).toISOString().slice(0, 10))
  fc.assert(
    fc.property(starts, fc.integer({ min: -800, max: 800 }), (first, days) => {
      return isInCalendar(plusDays(first, days), first) === (days >= 0 && days < 365)
    }),
    { numRuns: 2000 },
  )
  t.pass()
})

t.test('no two days of a calendar share a place', async (t) => {
  const places = Array.from({ length: horizonDays }, (_, index) =>
    monthPlace(plusDays('2024-02-29', index)),
  )
  t.equal(new Set(places.map(({ month, place }) => `${month} ${place}`)).size, 365)
  t.ok(places.every(({ month, place }) => month.endsWith('-01') && place >= 1 && place <= 31))
  t.strictSame(monthPlace('2024-02-29'), { month: '2024-02-01', place: 29 })
})

t.test('today is the UTC day', async (t) => {
  const before = new Date().toISOString().slice(0, 10)
  const day = today()
  t.ok([before, new Date().toISOString().slice(0, 10)].includes(day))
})

t.test('a day of UTC begins and ends in the millisecond', async (t) => {
  const { now } = Date
  t.teardown(() => {
    Date.now = now
  })
  const moments = ['2026-12-31T23:59:59.999', '2027-01-01T00:00:00.000', '2026-12-31T12:00:00.000']
  for (const moment of moments) {
    Date.now = () => Date.parse(`${moment}Z`)
    t.equal(today(), moment.slice(0, 10))
  }
})
