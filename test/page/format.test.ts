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

t.test('prices keep their decimals, at least two; what is absent is a dash', async (t) => {
  const separator = (1.5).toLocaleString().charAt(1)
  t.equal(format.price(2.5), `2${separator}50`)
  t.equal(format.price(0.123456), `0${separator}123456`)
  t.equal(format.price(null), '–')
  t.equal(format.margin(undefined), '–')
  t.equal(format.compared(1, 0), '–', 'compared with nothing')
})
