import t, { type Test } from 'tap'
import { userOf } from '../helpers/command-line.ts'
import { someCodes } from '../helpers/jobs.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aList, aShopOf, rowsOf } from '../helpers/shop.ts'

const service = await sharedService()
const codes = someCodes(150)

async function aUserWith(t: Test, files: Record<string, string>) {
  const extensions = [
    { name: 'size', type: 'integer' },
    { name: 'gift', type: 'boolean' },
  ]
  const products = codes.map((code) => ({ code, size: 4, gift: true }))
  const shop = await aShopOf(t, service, { extensions }, products)
  const list = await aList(shop, { name: 'L' })
  const { run } = userOf(t, service, shop, files)
  const load = (...args: string[]) => run('load', 'rows', '--list', 'L', ...args)
  return { shop, list, load }
}

const csv = (some: string[]) =>
  `\ufeffcode,size,gift\n${some.map((code) => `${code},4,TRUE\n`).join('')}`

t.test('rows are added by a job that is followed, and never doubled', async (t) => {
  const { shop, list, load } = await aUserWith(t, { 'all.csv': csv(codes) })
  const { code, stdout, stderr } = await load('all.csv')
  t.strictSame([code, stderr], [0, ''])
  t.match(stdout, /^all\.csv: 150 rows in [\d.]+ s/)
  t.equal((await rowsOf(shop, list)).length, 150)
  t.match((await load('all.csv')).stdout, /^all\.csv: 150 rows in /)
  t.equal((await shop.get('/api/v1/jobs/')).body.count, 2)
  t.equal((await rowsOf(shop, list)).length, 150)
})

t.test('a few rows need no job, from NDJSON and JSON too', async (t) => {
  const row = (code: string) => JSON.stringify({ code, extensions: { size: 4 }, gift: true })
  const files = { 'a.ndjson': `${row('P000')}\n\n${row('P001')}`, 'b.json': `[${row('P002')}]` }
  const { shop, list, load } = await aUserWith(t, files)
  t.equal((await load('a.ndjson', 'b.json')).code, 0)
  t.strictSame(
    (await rowsOf(shop, list)).map(({ code }) => code),
    ['P000', 'P001', 'P002'],
  )
})

t.test('bad rows are named by their line, and none is added', async (t) => {
  const lines = ['nowhere,4,true', 'P001,four,true', 'P002,,true']
  const files = {
    'a.csv': `${csv(['P000'])}${lines.join('\n')}\n`,
    'b.csv': 'code,colour\nP000,red\n',
  }
  const { shop, list, load } = await aUserWith(t, files)
  const { code, stdout, stderr } = await load('a.csv', '--rejects', 'r.csv')
  t.strictSame([code, stdout], [1, ''])
  t.match(stderr, /^a\.csv: \d errors\. Nothing was written\.\n/)
  for (const place of ['line 3, code "nowhere": ', 'line 4, size "four": ', 'line 5, size: '])
    t.match(stderr, `\n  ${place}`)
  const column = await load('b.csv')
  t.equal(column.code, 1)
  t.match(column.stderr, /colour/)
  t.strictSame(await rowsOf(shop, list), [])
})
