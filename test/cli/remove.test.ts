import t, { type Test } from 'tap'
import { userOf } from '../helpers/command-line.ts'
import { someCodes } from '../helpers/jobs.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aFilledList, aList, aShopOf, rowsOf } from '../helpers/shop.ts'

const service = await sharedService()

/** A list "L" of codes in two countries. */
async function aUserWithAList(t: Test, codes = ['A', 'B'], settings: object = {}) {
  const countries = ['FR', 'UK']
  const { shop, list } = await aFilledList(t, service, { codes, countries, ...settings })

  const left = async () =>
    (await rowsOf(shop, list)).map(({ code, country }) => `${code} ${country}`).sort()
  return { left, shop, ...userOf(t, service, shop) }
}

t.test('removes all rows of the codes, or those of an extension', async (t) => {
  const { run, left } = await aUserWithAList(t)
  const first = await run('remove', 'L', 'A', '--where', 'country=UK', '--note', 'délisté')
  t.match(first, { code: 0, stdout: '1 row removed from L.\n' })
  t.strictSame(await left(), ['A FR', 'B FR', 'B UK'])
  t.match((await run('log', 'L')).stdout, /remove_products .* délisté\n$/)
  const second = await run('remove', 'L', 'A', 'B', '--json')
  t.strictSame(JSON.parse(second.stdout), { removed: 3 })
  t.strictSame(await left(), [])
})

t.test(
  'a code, extension or list that there is not is named, and nothing is removed',
  async (t) => {
    const { run, left } = await aUserWithAList(t)
    t.match(await run('remove', 'L', 'A', 'X'), { code: 1, stderr: /no such product: "X"\.$/m })
    t.match(await run('remove', 'L', 'A', '--where', 'country=XX'), {
      ...{ code: 1, stderr: /no such product: "A" with country XX\.$/m },
    })
    t.match(await run('remove', 'L', 'A', '--where', 'size=1'), { code: 2, stderr: /country/ })
    t.match(await run('remove', 'L', 'A', '--where', 'country=UK', '--where', 'country=XX'), {
      code: 2,
      stderr: /country has a value already/,
    })
    t.match(await run('remove', 'M', 'A'), { code: 1, stderr: /There is no price list "M"/ })
    t.equal((await left()).length, 4)
  },
)

t.test('an extension is compared as its type, however it is written', async (t) => {
  const extensions = [
    { name: 'size', type: 'number' },
    { name: 'boxed', type: 'boolean' },
  ]
  const rows = [true, false].map((boxed) => ({ code: 'A', size: 1.5, boxed }))
  const shop = await aShopOf(t, service, { extensions }, rows)
  const list = await aList(shop, { name: 'L' })
  await addProducts(shop, 'L', rows)
  const { run } = userOf(t, service, shop)
  const where = ['--where', 'size=1.50', '--where', 'boxed=TRUE']
  t.match(await run('remove', 'L', 'A', ...where), { stdout: '1 row removed from L.\n' })
  t.match(await rowsOf(shop, list), [{ boxed: false }])
})

t.test('removes the products of a file', async (t) => {
  const { run, left, write } = await aUserWithAList(t)
  write({ 'gone.csv': 'code,country\nA,UK\nB,FR\nnone,FR\n' })
  const { stdout } = await run('remove', 'L', '--file', 'gone.csv')
  t.match(stdout, /^2 rows removed from L\.\n$/)
  t.strictSame(await left(), ['A FR', 'B UK'])
  write({ 'bad.csv': 'code,country\nA,\n' })
  const bad = 'bad.csv: 1 error. Nothing was written.\n  line 2, country: is required\n'
  t.match(await run('remove', 'L', '--file', 'bad.csv'), {
    ...{ code: 1, stdout: '', stderr: `${bad}bad.csv was refused.\n` },
  })
  const told = await run('remove', 'L', '--file', 'bad.csv', '--json')
  t.match(JSON.parse(told.stdout), { file: 'bad.csv', errors: [{ line: 2, field: 'country' }] })
})

t.test('--plan shows what would leave, and apply removes it', async (t) => {
  const { run, left, write } = await aUserWithAList(t)
  const { stdout } = await run('remove', 'L', 'A', '--plan')
  const [, id = ''] =
    /^Plan (\d+): remove_products, L, open\n {2}rows +2\n {2}removed +2/.exec(stdout) ?? []
  t.not(id, '', stdout)
  t.equal((await left()).length, 4)
  t.match((await run('plan', id)).stdout, /A +FR +remove/)
  t.match(await run('apply', id), { code: 0, stdout: /is applied: revision 2/ })
  t.strictSame(await left(), ['B FR', 'B UK'])
  write({ 'gone.csv': 'code,country\nB,UK\n' })
  const file = await run('remove', 'L', '--file', 'gone.csv', '--plan')
  t.match(file.stdout, /^Plan \d+: remove_products, L, open\n/)
  t.equal((await left()).length, 2)
})

t.test('a guardrail refuses it, and --override lets it pass', async (t) => {
  const { run, left, write } = await aUserWithAList(t, ['A', 'B'], {
    guardrails: { max_removed_percent: 10 },
  })
  t.match(await run('remove', 'L', 'A'), { code: 1, stderr: /removes more than 10 percent/ })
  write({ 'gone.csv': 'code,country\nA,UK\nA,FR\n' })
  t.match(await run('remove', 'L', '--file', 'gone.csv'), {
    ...{ code: 1, stderr: /than 10 percent.*\nUse --override '<reason>' / },
  })
  t.match(await run('remove', 'L', 'A', '--override', 'agreed'), { code: 0 })
  t.equal((await left()).length, 2)
})

t.test('the job that removes many rows is followed', async (t) => {
  const codes = someCodes(60)
  const { run, left } = await aUserWithAList(t, codes)
  t.equal((await run('remove', 'L', ...codes)).stdout, '120 rows removed from L.\n')
  t.strictSame(await left(), [])
})

t.test('wrong usage is told', async (t) => {
  const { run } = await aUserWithAList(t)
  t.match(await run('remove', 'L'), { code: 2, stderr: /codes or --file/ })
  t.match(await run('remove', 'L', 'A', '--file', 'x.csv'), { code: 2, stderr: /either/ })
  t.match(await run('remove', 'L', '--file', 'x.csv'), { code: 2, stderr: /x\.csv/ })
  t.match(await run('remove'), { code: 2 })
})
