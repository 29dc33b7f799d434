import t, { type Test } from 'tap'
import { userOf } from '../helpers/command-line.ts'
import { someCodes } from '../helpers/jobs.ts'
import { inAMonth, makeDue } from '../helpers/plans.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { addProducts, aFilledList, rowsOf, setPrices } from '../helpers/shop.ts'

const service = await sharedService()
const uk = (code: string) => ({ code, country: 'UK' })
const file = (prices: Record<string, number>) =>
  ['code,country,price', ...Object.entries(prices).map(([code, price]) => `${code},UK,${price}`)]
    .join('\n')
    .concat('\n')

/** A list "L" of A and B, priced at 10 and 20, and the command line of its account. */
async function aPricedList(t: Test, { guardrails = {}, codes = ['A', 'B'] } = {}) {
  const rows = ['A', 'B'].map(uk)
  const { shop, list } = await aFilledList(t, service, { codes, rows, guardrails })
  await setPrices(shop, 'L', [
    { ...uk('A'), price: 10 },
    { ...uk('B'), price: 20 },
  ])
  const user = userOf(t, service, shop)
  /** Makes a plan of prices and returns its id. */
  const plan = async (prices: Record<string, number>, ...more: string[]): Promise<string> => {
    user.write({ 'p.csv': file(prices) })
    const args = ['load', 'prices', '--list', 'L', 'p.csv', '--plan', '--json', ...more]
    const { stdout, stderr } = await user.run(...args)
    if (stdout === '') throw new Error(stderr)
    return String(JSON.parse(stdout).plan.id)
  }
  const pricesNow = async () =>
    Object.fromEntries((await rowsOf(shop, list)).map(({ code, prices }) => [code, prices.price]))
  return { ...user, shop, list, plan, pricesNow }
}

t.test('load --plan writes nothing and shows what would change', async (t) => {
  const { run, write, pricesNow } = await aPricedList(t)
  write({ 'p.csv': file({ A: 11, B: 18 }) })
  const { code, stdout, stderr } = await run('load', 'prices', '--list', 'L', 'p.csv', '--plan')
  t.strictSame([code, stderr], [0, ''])
  const id = /^Plan (\d+): update_prices, L, open\n/.exec(stdout)?.[1]
  t.match(stdout, / {2}rows +2\n {2}changed +2\n {2}increases +1\n {2}decreases +1\n/)
  t.match(
    stdout,
    / {2}average change +0 %\n {2}largest increase +\+10 %\n {2}largest decrease +-10 %/,
  )
  t.match(
    stdout,
    `\`pricewell apply ${id}\` applies it, \`pricewell plan ${id}\` shows its rows.\n`,
  )
  t.strictSame(await pricesNow(), { A: 10, B: 20 })
})

t.test('a plan is listed, looked at and applied', async (t) => {
  const { run, plan, pricesNow } = await aPricedList(t)
  t.equal((await run('plans')).stdout, 'There are no plans.\n')
  const id = await plan({ A: 11, B: 40 })
  t.match(
    (await run('plans', '--status', 'open', '--list', 'L')).stdout,
    /^id +status .*\n *\d+ +open +update_prices +L +2 +2 +0 .*\n$/,
  )
  const looked = await run('plan', id)
  t.match(
    looked.stdout,
    /^code .*\nB +UK +price +price +20 +40 +100\nA +UK +price +price +10 +11 +10\n/,
    'the largest change first',
  )
  const filtered = await run('plan', id, '--action', 'add', '--json')
  t.match(JSON.parse(filtered.stdout), { status: 'open', rows: { length: 0 } })
  t.match(await run('apply', id), { code: 0, stdout: `Plan ${id} is applied: revision 3.\n` })
  t.strictSame(await pricesNow(), { A: 11, B: 40 })
  t.match(await run('apply', id), { code: 1, stderr: `The plan ${id} is applied.\n` })
  t.equal((await run('plans', '--status', 'open')).stdout, 'There are no such plans.\n')
  t.match(await run('plans', '--list', 'none'), { code: 1, stderr: /no price list "none"/ })
  t.match(await run('plan', '999999'), { code: 1, stderr: 'There is no such plan.\n' })
})

t.test('apply names what is stale, and leaves it out if it is told to', async (t) => {
  const { shop, run, plan, pricesNow } = await aPricedList(t)
  const id = await plan({ A: 11, B: 22 })
  await setPrices(shop, 'L', [{ ...uk('B'), price: 21 }])
  const { code, stdout, stderr } = await run('apply', id)
  t.strictSame([code, stdout], [1, ''])
  t.equal(
    stderr,
    `
Plan ${id} was not applied: 1 row changed since it was made.
  B, UK, price: was changed, or confirmed later, since the plan was made
Leave them out with \`pricewell apply ${id} --skip stale\`, or make a new plan.
`.slice(1),
  )
  const json = await run('apply', id, '--json')
  t.match(JSON.parse(json.stderr), { exit_code: 1, type: 'plan-stale', error_count: 1 })
  const skipping = await run('apply', id, '--skip', 'stale')
  t.equal(skipping.stdout, `Plan ${id} is applied: revision 4, 1 row left out.\n`)
  t.strictSame(await pricesNow(), { A: 11, B: 21 })
})

t.test('apply names violations, which are left out or overridden with a reason', async (t) => {
  const { shop, run, plan, pricesNow } = await aPricedList(t, {
    guardrails: { max_increase_percent: 15 },
  })
  const id = await plan({ A: 12, B: 21 })
  t.match((await run('plan', id)).stdout, /--skip violations\nleaves them out/)
  t.match((await run('plan', id, '--violation', 'no_zero')).stdout, /^No row of the plan matches\./)
  const { code, stderr } = await run('apply', id, '--skip', 'stale')
  t.equal(code, 1)
  t.match(stderr, /1 guardrail violation\.\n {2}A, UK, price: from 10 to 12: rises by more/)
  t.match(stderr, `apply ${id} --skip stale,violations\`, or let them pass with --override`)
  t.match(await run('apply', id, '--skip', 'violations'), { stdout: /1 row left out\.\n$/ })
  t.strictSame(await pricesNow(), { A: 10, B: 21 })
  const second = await plan({ A: 12 })
  const said = ['--override', 'Räumung ☀', '--note', 'Größe']
  t.match(await run('apply', second, ...said), { code: 0 })
  const { body } = await shop.get('/api/v1/price_list/?name=L')
  const revision = await shop.get(`/api/v1/price_list/${body.results[0].id}/revisions/4`)
  t.match(revision.body, { plan_id: Number(second), override: 'Räumung ☀', note: 'Größe' })
})

t.test('a guardrail of the whole list can only be overridden', async (t) => {
  const { shop, run } = await aPricedList(t, { guardrails: { max_removed_percent: 10 } })
  await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [{ ...uk('B'), active: false }])
  const { body } = await shop.post('/api/v1/prices/sync_with_catalog/?plan=true', {
    price_list_name: 'L',
  })
  const { code, stderr } = await run('apply', String(body.id))
  t.equal(code, 1)
  t.match(stderr, /removes more than 10 percent of the rows\nYou can let them pass with --override/)
})

t.test('a plan is scheduled, and its status tells what became of it', async (t) => {
  const { run, plan, pricesNow } = await aPricedList(t)
  const id = await plan({ A: 11 })
  const at = inAMonth()
  const { stdout } = await run('apply', id, '--at', at.replace('.000', ''))
  t.match(stdout, `Plan ${id} will be applied at ${at}.`)
  t.match((await run('plan', id)).stdout, new RegExp(` {2}apply at +${at}\n`))
  t.strictSame(await pricesNow(), { A: 10, B: 20 })
  t.match(await run('apply', id, '--at', '2020-01-01T00:00:00Z'), { code: 1 })
})

t.test('a scheduled plan that was refused says why, and what to do', async (t) => {
  const { run, shop, plan } = await aPricedList(t)
  const id = await plan({ A: 11 })
  await run('apply', id, '--at', inAMonth())
  await setPrices(shop, 'L', [{ ...uk('A'), price: 12 }])
  await makeDue(service.url, id)
  let stdout = ''
  while (!/, (failed|applied)\n/.test(stdout)) stdout = (await run('plan', id)).stdout
  t.match(stdout, /1 row of the plan is stale/)
  t.match(stdout, /It cannot be applied any more: make the plan again\./)
})

t.test('a plan that is open or scheduled is discarded', async (t) => {
  const { run, plan, pricesNow } = await aPricedList(t)
  const id = await plan({ A: 11 })
  await run('apply', id, '--at', inAMonth())
  t.match((await run('plan', id)).stdout, `\`pricewell discard ${id}\` cancels it.`)
  t.match(await run('discard', id), { code: 0, stdout: `Plan ${id} is discarded.\n` })
  t.match((await run('plans', '--status', 'discarded')).stdout, ' discarded ')
  t.match(await run('discard', id), { code: 1, stderr: /is discarded/ })
  t.match(await run('apply', id), { code: 1, stderr: /is discarded/ })
  t.match(await run('discard', '999'), { code: 1, stderr: 'There is no such plan.\n' })
  t.strictSame(await pricesNow(), { A: 10, B: 20 })
})

t.test('large plans are applied by a job that is followed', async (t) => {
  const { run, write } = await aPricedList(t, { codes: ['A', 'B', ...someCodes(101)] })
  write({
    'rows.csv': `code,country\n${someCodes(101)
      .map((code) => `${code},UK\n`)
      .join('')}`,
  })
  const made = await run('load', 'rows', '--list', 'L', 'rows.csv', '--plan', '--json')
  const { plan } = JSON.parse(made.stdout)
  t.match(plan, { operation: 'add_products', summary: { added: 101 } })
  t.match(await run('apply', String(plan.id)), { code: 0, stdout: /is applied: revision 3\.\n$/ })
})

t.test('a plan that a job could not apply can be applied without its stale rows', async (t) => {
  const codes = someCodes(101)
  const { run, shop, write } = await aPricedList(t, { codes: ['A', 'B', ...codes] })
  write({ 'rows.csv': ['code,country', ...codes.map((code) => `${code},UK`), ''].join('\n') })
  const made = await run('load', 'rows', '--list', 'L', 'rows.csv', '--plan', '--json')
  const { plan } = JSON.parse(made.stdout)
  await addProducts(shop, 'L', [uk(codes[0] as string)])
  const refused = await run('apply', String(plan.id))
  const command = `pricewell apply ${plan.id} --skip stale`
  t.match(refused, { code: 1, stderr: `Leave them out with \`${command}\`` })
  const { code, stdout } = await run(...command.split(' ').slice(1))
  t.match([code, stdout], [0, /is applied: revision 4, 1 row left out\.\n$/])
})

t.test('a job makes a plan of a file, too; bad lines are refused as ever', async (t) => {
  const { run, plan, write } = await aPricedList(t)
  const id = await plan({ A: 11 }, '--job')
  t.match((await run('plan', id)).stdout, `Plan ${id}: update_prices, L, open`)
  write({ 'bad.csv': file({ none: 1 }) })
  const bad = await run('load', 'prices', '--list', 'L', 'bad.csv', '--plan', '--rejects', 'r.csv')
  t.match(bad, { code: 1, stderr: /line 2.*\nr\.csv has the rejected rows/ })
  t.match(await run('load', 'sales', 'p.csv', '--plan'), {
    code: 2,
    stderr: '--plan does not apply to sales.\n',
  })
})

t.test('plan -o writes all rows that match to a file', async (t) => {
  const { run, plan, read } = await aPricedList(t)
  const id = await plan({ A: 10, B: 30 })
  const written = await run('plan', id, '-o', 'changes.csv')
  t.strictSame([written.code, written.stdout], [0, 'changes.csv: 2 rows.\n'], written.stderr)
  const [header, first] = read('changes.csv').split('\r\n')
  t.match(header, /^code,country,price_dimension,action,reason,old,new,/)
  t.match(first, /^B,UK,price,price,,20,30,50,/)
  await run('plan', id, '--reason', 'unchanged', '-o', 'same.ndjson')
  t.match(read('same.ndjson'), /^\{"code":"A"[^\n]+\n$/)
})
