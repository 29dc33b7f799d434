import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { commandLine } from '../helpers/command-line.ts'
import { someCodes } from '../helpers/jobs.ts'
import { startTestService } from '../helpers/service.ts'
import { aList, aShopOf, rowsOf } from '../helpers/shop.ts'

const service = await startTestService(t)
const PRICEWELL_URL = await service.app.listen({ port: 0 })
const codes = someCodes(150)

async function aUserWith(t: Test, files: Record<string, string>) {
  const extensions = [
    { name: 'size', type: 'integer' },
    { name: 'gift', type: 'boolean' },
  ]
  const products = codes.map((code) => ({ code, size: 4, gift: true }))
  const shop = await aShopOf(t, service, { extensions }, products)
  const list = await aList(shop, { name: 'L' })
  const { home, run } = commandLine(t, { PRICEWELL_URL, PRICEWELL_TOKEN: shop.token })
  for (const [name, content] of Object.entries(files)) writeFileSync(join(home, name), content)
  const load = (...args: string[]) => run('load', 'rows', '--list', 'L', ...args)
  return { shop, list, load }
}

const csv = (some: string[]) =>
  `\ufeffcode,size,gift\n${some.map((code) => `${code},4,TRUE\n`).join('')}`

t.test('rows are added by a job that is followed, and once', async (t) => {
  const { shop, list, load } = await aUserWith(t, { 'all.csv': csv(codes) })
  const { code, stdout, stderr } = await load('all.csv')
  t.strictSame([code, stderr], [0, ''])
  t.match(stdout, /^all\.csv: 150 rows in [\d.]+ s/)
  t.equal((await rowsOf(shop, list)).length, 150)
  const again = 'all.csv: 150 rows, loaded before; nothing was done (--again loads it again).\n'
  t.equal((await load('all.csv')).stdout, again)
  t.equal((await shop.get('/api/v1/jobs/')).body.count, 1)
  await load('all.csv', '--again')
  t.equal((await shop.get('/api/v1/jobs/')).body.count, 2)
})

t.test('a few rows need no job; NDJSON and JSON are taken as they are', async (t) => {
  const row = (code: string) => JSON.stringify({ code, extensions: { size: 4 }, gift: true })
  const files = { 'a.ndjson': `${row('P000')}\n\n${row('P001')}`, 'b.json': `[${row('P002')}]` }
  const { shop, list, load } = await aUserWith(t, files)
  t.equal((await load('a.ndjson', 'b.json')).code, 0)
  t.strictSame(
    (await rowsOf(shop, list)).map(({ code }) => code),
    ['P000', 'P001', 'P002'],
  )
})

t.test('bad rows are named by their line', async (t) => {
  const ndjson = `{"code":"P000","size":4,"gift":true}\n\n{"code":"nowhere","size":4,"gift":true}\n`
  const files = {
    'a.csv': `${csv(['P000'])}nowhere,4,true\nP001,four,true\nP002\n`,
    'b.ndjson': ndjson,
  }
  const { shop, list, load } = await aUserWith(t, files)
  const short = await load('a.csv')
  t.equal(short.code, 2)
  t.match(short.stderr, /^a\.csv: Invalid Record Length: .* on line 5/)
  const bad = await load('b.ndjson')
  t.equal(bad.code, 1)
  t.match(bad.stderr, /^b\.ndjson: 1 error\. Nothing was written\.\n {2}line 3, code: .*catalog\n/)
  t.strictSame(await rowsOf(shop, list), [])
})

t.test('a cell that is no value of its column is refused, not guessed', async (t) => {
  const { shop, list, load } = await aUserWith(t, {
    'a.csv': `${csv(['P000'])}P001,four,maybe\nP002,,true\n`,
  })
  const { code, stderr } = await load('a.csv')
  t.equal(code, 1)
  t.match(stderr, /line 3, size: [^\n]*\n {2}line 3, gift: [^\n]*\n {2}line 4, size: is required/)
  t.strictSame(await rowsOf(shop, list), [])
})

t.test('files that are no rows are wrong usage', async (t) => {
  const { load } = await aUserWith(t, { 'a.csv': 'code,colour\nP000,red\n', 'b.ndjson': '{}\n{' })
  const column = 'There is no extension "colour"; there are: size, gift.\n'
  t.strictSame(await load('a.csv'), { code: 2, stdout: '', stderr: column })
  const line = await load('b.ndjson')
  t.equal(line.code, 2)
  t.match(line.stderr, /^b\.ndjson: line 2: /)
})
