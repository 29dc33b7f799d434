import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { commandLine, userOf } from '../helpers/command-line.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { aFilledList, setPrices } from '../helpers/shop.ts'
import { standIn } from '../helpers/stand-in.ts'

const service = await sharedService()
const uk = (code: string) => ({ code, country: 'UK' })

/** A list "L" of A and B, priced at 2 and 4, then A at 3. */
async function aChangedList(t: Test) {
  const { shop } = await aFilledList(t, service, { codes: ['A', 'B'] })
  await setPrices(shop, 'L', [
    { ...uk('A'), price: 2 },
    { ...uk('B'), price: 4 },
  ])
  await setPrices(shop, 'L', [{ ...uk('A'), price: 3 }])
  return userOf(t, service, shop)
}

t.test('log shows the revisions, the newest last', async (t) => {
  const { run } = await aChangedList(t)
  const { stdout } = await run('log', 'L')
  t.match(
    stdout,
    /^revision +at +kind +who +priced +added +removed\n +1 .* add_products .*\n +2 .*\n +3 .* update_prices +\d+ +1 +0 +0\n$/,
  )
  t.match(JSON.parse((await run('log', 'L', '--json')).stdout), [
    { revision: 1 },
    { revision: 2 },
    { revision: 3 },
  ])
  const { code, stderr } = await run('log', 'none')
  t.equal(code, 1)
  t.match(stderr, /There is no price list "none"\./)
})

t.test('diff shows what changed between two revisions', async (t) => {
  const { run } = await aChangedList(t)
  const { stdout } = await run('diff', 'L', '2')
  t.match(stdout, /A +UK +price +priced +2 +3 +50\n1 cell differs\.\n$/)
  t.equal((await run('diff', 'L', '1', '1')).stdout, '0 cells differ.\n')
  t.match(await run('diff', 'L', '9'), { code: 1, stderr: /the newest revision of the list is 3/ })
})

t.test('diff writes all cells to a file', async (t) => {
  const { run, home, read } = await aChangedList(t)
  t.equal((await run('diff', 'L', '1', '-o', 'changed.csv')).stdout, 'changed.csv: 2 rows.\n')
  const [head, ...lines] = read('changed.csv').trim().split('\r\n')
  t.match(head, /,code,country,price_dimension,change,old,new,change_percent$/)
  t.match(lines, [/,A,UK,price,priced,0,3,$/, /,B,UK,price,priced,0,4,$/])
  t.match(await run('diff', 'L', '9', '-o', 'none.csv'), { code: 1, stderr: /newest revision/ })
  t.notOk(existsSync(join(home, 'none.csv')))
})

t.test('diff shows the largest changes of all, up to 1,000', async (t) => {
  const codes = Array.from({ length: 1001 }, (_, index) => `P${1000 + index}`)
  const { shop } = await aFilledList(t, service, { codes })
  const priceOf = (code: string) => (code === 'P2000' ? 1 : 101)
  await setPrices(
    shop,
    'L',
    codes.map((code) => ({ ...uk(code), price: 100 })),
  )
  await setPrices(
    shop,
    'L',
    codes.map((code) => ({ ...uk(code), price: priceOf(code) })),
  )
  const { run } = userOf(t, service, shop)
  const lines = (await run('diff', 'L', '2')).stdout.split('\n')
  t.match([lines.length, lines[1]], [1003, /^P2000 .* 100 +1 +-99$/])
  t.match(lines.at(-2), '1,001 cells differ.')
})

t.test('a diff that is too large for an answer is written by -o', async (t) => {
  const problem = { type: 'too-costly', title: 'Title', status: 400, detail: 'Too much.' }
  const { url } = await standIn(t, [
    { status: 200, body: { count: 1, results: [{ id: 1 }] } },
    { status: 400, body: { ...problem, instance: 'i' } },
  ])
  const { run } = commandLine(t, { PRICEWELL_TOKEN: 'a.b.c' })
  const stderr = 'Too much. Here, -o writes the file.\n'
  t.strictSame(await run('diff', 'L', '0', '--url', url), { code: 1, stdout: '', stderr })
})

t.test('revert undoes a revision and says what it did', async (t) => {
  const { run } = await aChangedList(t)
  const { stdout } = await run('revert', 'L', '--revision', '3', '--note', 'falsch: Preis für A ☀')
  t.equal(stdout, 'Revision 4: 1 prices restored, 0 rows added, 0 rows removed.\n')
  t.match((await run('log', 'L')).stdout, /4 .* revert .* 3 +falsch: Preis für A ☀\n$/)
  t.match(await run('revert', 'L', '--to', '4'), { stdout: 'There was nothing to undo.\n' })
  t.match(await run('revert', 'L'), { code: 2, stderr: /--revision or --to/ })
  t.match(await run('revert', 'L', '--revision', 'x'), { code: 2 })
})

t.test('revert --plan undoes nothing until the plan is applied', async (t) => {
  const { run } = await aChangedList(t)
  const planned = await run('revert', 'L', '--revision', '3', '--plan')
  const [, id = ''] = /pricewell apply (\d+)/.exec(planned.stdout) ?? []
  t.match((await run('prices', 'L', 'A')).stdout, / 3\n$/)
  t.equal((await run('apply', id)).code, 0)
  t.match((await run('log', 'L')).stdout, /4 .* revert /)
})

t.test('a revert names the cells that were changed again since', async (t) => {
  const { run } = await aChangedList(t)
  const { code, stderr } = await run('revert', 'L', '--revision', '2')
  t.equal(code, 1)
  t.match(
    stderr,
    /^1 change cannot be undone\..*\n {2}A, UK, price: was changed again since\n.*--skip\./,
  )
})

t.test('prices are shown as they were, and over time', async (t) => {
  const { run } = await aChangedList(t)
  t.match((await run('prices', 'L', 'A', '--as-of', '2')).stdout, /A +UK +2 +2\n$/)
  const { stdout } = await run('history', 'L', 'A')
  t.match(stdout, /A +UK +0 .* add_products .*\n.* 2 .*\n.* 3 +\S+ +now +update_prices/)
  t.match(await run('history', 'L', 'none'), { stdout: 'No row of the list matches.\n' })
  await run('remove', 'L', 'A')
  const left = await run('history', 'L', 'A', '--where', 'country=UK')
  t.match(left.stdout, / 3 +\S+ +\d\S+Z +update_prices/, 'a row that has left the list')
  t.match(await run('history', 'L', 'A', '--where', 'country=DE'), { stdout: /^No row/ })
})
