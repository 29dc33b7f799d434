import t from 'tap'
import { href, readRoute } from '../../src/page/routes.js'

t.test('an address is read as what it was made from', async (t) => {
  t.strictSame(readRoute(''), { view: 'lists', search: '' })
  t.strictSame(readRoute('#/'), { view: 'lists', search: '' })
  t.strictSame(readRoute(href('lists', { q: 'a&b=c #%' })), { view: 'lists', search: 'a&b=c #%' })
  t.strictSame(readRoute(href('jobs')), { view: 'jobs' })
  const list = readRoute(href('lists/7', { page: 3, date: '2026-01-31', as_of: '2026-01-02' }))
  const there = {
    page: 3,
    date: '2026-01-31',
    asOf: '2026-01-02',
    contains: '',
    order: '',
    dimension: '',
  }
  t.strictSame(list, { view: 'list', id: 7, ...there })
  const revision = readRoute(href('lists/7/revisions/3'))
  t.strictSame(revision, { view: 'revision', id: 7, revision: 3 })
  const code = '../?a=b&c=d#/jobs%2F "q" قائمة 😀'
  const prices = readRoute(href('prices', { code, list: 9, on: '2026-02-03' }))
  const days = { on: '2026-02-03', date: undefined, asOf: undefined }
  t.strictSame(prices, { view: 'prices', code, list: 9, ...days })
})

t.test('what an address cannot mean is left out or is no page', async (t) => {
  const nothing = { list: undefined, on: undefined, date: undefined, asOf: undefined }
  const bad = readRoute('#/prices?list=-1&on=tomorrow&date=2026-1-1')
  t.strictSame(bad, { view: 'prices', code: '', ...nothing })
  t.match(readRoute('#/lists/7?page=0'), { view: 'list', page: 1 })
  for (const hash of [
    '#/nope',
    '#/lists/7/revisions/x',
    '#/lists/7/changes/1',
    '#/lists/x',
    '#/lists/0',
    '#/lists/1/2',
    '#/lists/9999999999999999',
  ])
    t.strictSame(readRoute(hash), { view: 'missing' }, hash)
})

t.test('absent values are not in the address', async (t) => {
  t.equal(href('lists', { q: '', page: undefined }), '#/lists')
})
