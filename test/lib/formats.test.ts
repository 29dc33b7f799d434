import fc from 'fast-check'
import t from 'tap'
import { isDate, isTimestamp, utcTimestamp } from '../../src/lib/formats.ts'

const pad = (value: number, length = 2) => String(value).padStart(length, '0')

t.test('a date is a day that the calendar has', async (t) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 9999 }),
      fc.integer({ min: 0, max: 14 }),
      fc.integer({ min: 0, max: 33 }),
      (year, month, day) => {
        const time = new Date(new Date(0).setUTCFullYear(year, month - 1, day))
        const isReal =
          year > 0 && time.getUTCMonth() === month - 1 && time.getUTCDate() === day && month > 0
        return isDate(`${pad(year, 4)}-${pad(month)}-${pad(day)}`) === isReal
      },
    ),
    { numRuns: 5000 },
  )
  t.pass()
})

t.test('leap days, and years 0001 to 9999', async (t) => {
  const good = ['2024-02-29', '2000-02-29', '0004-02-29', '0001-01-01', '9999-12-31', '1900-02-28']
  const bad = [
    '2023-02-29',
    '1900-02-29',
    '2100-02-29',
    '2024-02-30',
    '0000-01-01',
    '0000-02-29',
    '2026-04-31',
    '2026-00-01',
    '2026-01-00',
    '2026-13-01',
    '2026-1-1',
    '26-01-01',
    '',
    'today',
    'infinity',
    '2026-01-01 ',
    ' 2026-01-01',
    '2026-01-01\n',
    '+2026-01-01',
    '10000-01-01',
    '-0001-01-01',
    '2026/01/01',
    '20260101',
    '2026-01-01T00:00',
    '２０２６-01-01',
  ]
  for (const text of good) t.ok(isDate(text), text)
  for (const text of bad) t.notOk(isDate(text), JSON.stringify(text))
})

t.test('a timestamp is ISO 8601, taken to UTC', async (t) => {
  const cases: [text: string, utc: string][] = [
    ['2026-11-27', '2026-11-27T00:00:00.000Z'],
    ['2026-11-27T08:26', '2026-11-27T08:26:00.000Z'],
    ['2026-11-27T08:26:05', '2026-11-27T08:26:05.000Z'],
    ['2026-11-27T08:26:05Z', '2026-11-27T08:26:05.000Z'],
    ['2026-11-27t08:26:05z', '2026-11-27T08:26:05.000Z'],
    ['2026-11-27 08:26:05', '2026-11-27T08:26:05.000Z'],
    ['2026-11-27T08:26:05.123456', '2026-11-27T08:26:05.123Z'],
    ['2026-11-27T08:26:05,5Z', '2026-11-27T08:26:05.500Z'],
    ['2026-11-27T08:26:05+02:00', '2026-11-27T06:26:05.000Z'],
    ['2026-11-27T08:26:05+0200', '2026-11-27T06:26:05.000Z'],
    ['2026-11-27T08:26:05+02', '2026-11-27T06:26:05.000Z'],
    ['2026-11-27T08:26-11', '2026-11-27T19:26:00.000Z'],
    ['2026-11-27T08:26:05-05:30', '2026-11-27T13:56:05.000Z'],
    ['2026-12-31T23:59:59-01:00', '2027-01-01T00:59:59.000Z'],
    ['2024-02-29T23:59:59.999Z', '2024-02-29T23:59:59.999Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59.000Z'],
  ]
  for (const [text, utc] of cases) {
    t.ok(isTimestamp(text), text)
    t.equal(new Date(utcTimestamp(text)).toISOString(), utc, text)
  }
})

t.test('what is no timestamp is refused', async (t) => {
  const bad = [
    '',
    'now',
    '2026-02-29T00:00:00Z',
    '2026-11-27T24:00:00Z',
    '2026-11-27T08:60:00Z',
    '2026-11-27T08:26:60Z',
    '2026-11-27T',
    '2026-11-27T08',
    '2026-11-27Z',
    '2026-11-27T8:26',
    '2026-11-27T08:26:05+15:00',
    '2026-11-27T08:26:05+2',
    '2026-11-27T08:26:05 UTC',
    '0000-12-31T23:59:59Z',
    '0001-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
    '2026-11-27T08:26:05Z\n',
    ' 2026-11-27T08:26:05Z',
    '2026-11-27  08:26:05',
    '1700000000',
  ]
  for (const text of bad) t.notOk(isTimestamp(text), JSON.stringify(text))
})

t.test(
  'a day and time without an offset is the same in every time zone of the process',
  async (t) => {
    const moments = fc.date({
      min: new Date('0001-01-02T00:00:00Z'),
      max: new Date('9999-12-30T00:00:00Z'),
      noInvalidDate: true,
    })
    fc.assert(
      fc.property(moments, (moment) => {
        const text = moment.toISOString()
        const local = text.slice(0, -1)
        return isTimestamp(local) && new Date(utcTimestamp(local)).getTime() === moment.getTime()
      }),
    )
    t.pass()
  },
)
