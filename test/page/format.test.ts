import t from 'tap'
import * as format from '../../src/page/format.js'

t.test('a year of days, over leap days and turns of the year', async (t) => {
  t.strictSame(format.daysFrom('2028-02-28', 3), ['2028-02-28', '2028-02-29', '2028-03-01'])
  t.equal(format.daysFrom('2026-01-01', 365).at(-1), '2026-12-31')
  t.equal(format.daysFrom('2027-06-01', 365).at(-1), '2028-05-30')
})

t.test('how long ago, in the largest unit that fits', async (t) => {
  const now = Date.parse('2026-06-15T12:00:00Z')
  const words = ['2026-06-15T11:59:30Z', '2026-06-15T09:10:00Z', '2026-06-13T18:00:00Z'].map(
    (moment) => format.ago(moment, now),
  )
  const relative = new Intl.RelativeTimeFormat(undefined)
  const expected = [relative.format(-30, 'second'), relative.format(-2, 'hour')]
  t.strictSame(words, [...expected, relative.format(-1, 'day')], '42 hours ago is not “yesterday”')
})

t.test(
  'settings in percent keep all their decimals; figures are rounded, never to minus 0',
  async (t) => {
    const separator = (1.5).toLocaleString().charAt(1)
    const settings = [2.25, 0.04, 99.95, -33.333, 0.000001, 0].map(format.percent)
    const exact = ['2.25%', '0.04%', '99.95%', '-33.333%', '0.000001%', '0%']
    t.strictSame(
      settings,
      exact.map((text) => text.replace('.', separator)),
    )
    t.equal(format.margin(-0.04), '0%')
  },
)

t.test('a minute is that of the reader', async (t) => {
  const moment = new Date(2027, 1, 3, 4, 5, 59)
  t.equal(format.minuteNow(moment), '2027-02-03T04:05')
})

t.test('prices keep their decimals, at least two; what is absent is a dash', async (t) => {
  const separator = (1.5).toLocaleString().charAt(1)
  t.equal(format.price(2.5), `2${separator}50`)
  t.equal(format.price(0.123456), `0${separator}123456`)
  t.equal(format.price(null), '–')
  t.equal(format.margin(undefined), '–')
  t.equal(format.compared(1, 0), '–', 'compared with nothing')
})
