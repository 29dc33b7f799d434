import t, { type Test } from 'tap'
import { query } from '../../helpers/database.ts'
import { expectProblem } from '../../helpers/operations.ts'
import type { TestAccount } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { addProducts, aFilledList, aList, rowsOf, setPrices } from '../../helpers/shop.ts'
import { aWrittenList, type ShownRows, shownBy } from '../../helpers/written-list.ts'

const service = await sharedService()
const uk = (code: string) => ({ code, country: 'UK' })
/** The lines of a list's file and its published prices, without ids: a row that came back meanwhile is another one. */
const linesOf = ({ file, exact }: ShownRows): string[] => {
  const prices = exact.body.map((row: Record<string, unknown>) =>
    ['code', 'price_dimension', 'date', 'base_price'].map((name) => row[name]),
  )
  const lines = file.map(({ pk: _, ...line }: Record<string, unknown>) => line)
  return [...lines, ...prices].map((line) => JSON.stringify(line)).sort()
}

const activate = (shop: TestAccount, codes: string[]) =>
  shop.post(
    '/api/v1/product_catalog/bulk_create_or_update/',
    codes.map((code) => ({ ...uk(code), active: true })),
  )

for (const is_calendar of [false, true])
  t.test(
    `a ${is_calendar ? 'calendar ' : ''}list goes back to any revision, and from there again`,
    async (t) => {
      const written = { is_calendar, seed: 3, writes: 24, cellsAtOnce: 6 }
      const { shop, list, keys, shown } = await aWrittenList(t, service, written)
      await activate(shop, [...new Set(keys.map(({ code }) => code))])
      const path = `/api/v1/price_list/${list.id}/revert/`
      const now = async () => shownBy(shop, list.id, { keys })
      const revisions = [...shown.keys()].map(Number)
      for (const to_revision of revisions.filter((revision) => revision % 4 === 1).toReversed()) {
        const before = await now()
        const { status, body, headers } = await shop.post(path, { to_revision })
        t.equal(status, 201)
        t.equal(headers['price-list-revision'], String(body.revision))
        const after = await now()
        t.strictSame(
          linesOf(after),
          linesOf(shown.get(`${to_revision}`) as ShownRows),
          `to ${to_revision}`,
        )
        if (body.revision === Number(before.revision)) continue
        await shop.post(path, { revision: body.revision })
        t.strictSame(linesOf(await now()), linesOf(before), `back from ${to_revision}`)
        shown.set(String(body.revision), after)
      }
      for (const [revision, seen] of shown) {
        const { file } = await shownBy(shop, list.id, { keys, asOf: Number(revision) })
        t.strictSame(file, seen.file, `revision ${revision} is read as before`)
      }
      const last = await now()
      const { body } = await shop.get(
        `/api/v1/price_list/${list.id}/diff/?from=${revisions[0]}&limit=1000`,
      )
      const changed = new Set(body.results.map(({ code }: { code: string }) => code))
      // A row without a price comes and goes unnoticed in a calendar list: the diff names days that have one.
      const isCompared = (line: string) => !is_calendar || /^\[.*[1-9]\]$/.test(line)
      const codesOf = (shown: ShownRows, code: string) =>
        linesOf(shown).filter((line) => line.includes(`"${code}"`) && isCompared(line))
      const first = shown.get(`${revisions[0]}`) as ShownRows
      for (const code of new Set(keys.map((key) => key.code)))
        t.equal(
          changed.has(code),
          JSON.stringify(codesOf(first, code)) !== JSON.stringify(codesOf(last, code)),
          code,
        )
    },
  )

t.test('a day of a calendar row that left and was added again has its price back', async (t) => {
  const { shop, id } = await aFilledList(t, service, { is_calendar: true })
  const day = { ...uk('A'), date: '2026-12-24' }
  await setPrices(shop, 'L', [{ ...day, price: 5 }])
  const removal = { price_list_name: 'L', payload: [uk('A')] }
  await shop.post('/api/v1/prices/bulk_remove_products/', removal)
  await addProducts(shop, 'L', [uk('A')])
  const { body } = await shop.post(`/api/v1/price_list/${id}/revert/`, { to_revision: 2 })
  t.match(body, { revision: 5, priced: 1, added: 0, removed: 0, skipped: 0 })
  const read = (as_of?: number) =>
    shop.post('/api/v1/prices/get_prices/', { price_list_id: id, payload: [day], as_of })
  t.match((await read()).body, [{ active_price: 5 }])
  t.match((await read(4)).body, [{ active_price: 0 }])
})

t.test('a day without a price of a calendar row that left since is a conflict', async (t) => {
  const { shop, id } = await aFilledList(t, service, { is_calendar: true })
  const path = `/api/v1/price_list/${id}/revert/`
  await setPrices(shop, 'L', [{ ...uk('A'), date: '2026-12-24', price: 5 }])
  t.match((await shop.post(path, { revision: 2 })).body, { revision: 3, priced: 1 })
  const removal = { price_list_name: 'L', payload: [uk('A')] }
  await shop.post('/api/v1/prices/bulk_remove_products/', removal)
  await addProducts(shop, 'L', [uk('A')])
  expectProblem(t, await shop.post(path, { revision: 3 }), 409, 'revert-conflict', 'it left')
  const { body } = await shop.post(path, { revision: 3, on_conflict: 'skip' })
  t.match(body, { revision: 5, priced: 0, added: 0, removed: 0, skipped: 1 })
})

/** A list "L" with the rows A and B, priced at 1 as revision 2, and what reverts it. */
async function aPricedList(t: Test) {
  const { shop, list } = await aFilledList(t, service, { codes: ['A', 'B'] })
  await set(shop, { A: 1, B: 1 })
  const revert = (body: object, headers: Record<string, string> = {}) =>
    shop.send('POST', `/api/v1/price_list/${list.id}/revert/`, body, headers)
  const prices = async () =>
    Object.fromEntries((await rowsOf(shop, list)).map(({ code, prices }) => [code, prices.price]))
  const voided = async () =>
    (await shop.get(`/api/v1/price_list/${list.id}/revisions/`)).body.results
      .filter(({ voided }: { voided: boolean }) => voided)
      .map(({ revision }: { revision: number }) => revision)
  return { shop, list, revert, prices, voided }
}

const set = (shop: TestAccount, prices: Record<string, number>) =>
  setPrices(
    shop,
    'L',
    Object.entries(prices).map(([code, price]) => ({ ...uk(code), price })),
  )

t.test('one revision is undone, and what came later stays', async (t) => {
  const { shop, list, revert, prices, voided } = await aPricedList(t)
  await set(shop, { A: 5 })
  await set(shop, { B: 7 })
  const note = { 'change-note': 'wrong file' }
  const { body } = await revert({ revision: 3, void: true }, note)
  t.strictSame(body, { revision: 5, priced: 1, added: 0, removed: 0, skipped: 0 })
  t.strictSame(await prices(), { A: 1, B: 7 })
  const revisions = (await shop.get(`/api/v1/price_list/${list.id}/revisions/`)).body.results
  t.match(revisions[0], {
    kind: 'revert',
    reverts: { from: 3, to: 3 },
    note: 'wrong file',
    priced: 1,
  })
  t.strictSame(await voided(), [3])
})

t.test('a void that undoes nothing marks no revision', async (t) => {
  const { shop, revert, voided } = await aPricedList(t)
  await set(shop, { A: 5 })
  await set(shop, { A: 6 })
  const { body } = await revert({ revision: 3, on_conflict: 'skip', void: true })
  t.match(body, { revision: 4, priced: 0, skipped: 1 })
  t.strictSame(await voided(), [])
})

t.test('a planned void marks the revision once the plan is applied', async (t) => {
  const { shop, list, voided } = await aPricedList(t)
  await set(shop, { A: 5 })
  const path = `/api/v1/price_list/${list.id}/revert/?plan=true`
  const { body } = await shop.post(path, { revision: 3, void: true })
  t.strictSame(await voided(), [])
  t.equal((await shop.post(`/api/v1/plans/${body.id}/apply/`, {})).status, 201)
  t.strictSame(await voided(), [3])
})

t.test('what was changed again is a conflict, and is named or left out', async (t) => {
  const { shop, revert, prices } = await aPricedList(t)
  await set(shop, { A: 5, B: 5 })
  await set(shop, { A: 6 })
  await set(shop, { A: 5 })
  const refused = await revert({ revision: 3 })
  expectProblem(t, refused, 409, 'revert-conflict', 'conflict')
  t.match(refused.body.errors, [
    { pointer: '', code: 'changed_since', cell: { ...uk('A'), price_dimension: 'price' } },
  ])
  t.strictSame(await prices(), { A: 5, B: 5 })
  t.match((await revert({ revision: 3, on_conflict: 'skip' })).body, { priced: 1, skipped: 1 })
  t.strictSame(await prices(), { A: 5, B: 1 })
})

t.test(
  'a row that left returns with its id and price, unless its product is inactive',
  async (t) => {
    const { shop, list, revert, prices } = await aPricedList(t)
    const [a] = await rowsOf(shop, list)
    const sync = async (active: boolean) => {
      await shop.post('/api/v1/product_catalog/bulk_create_or_update/', [{ ...uk('A'), active }])
      await shop.post('/api/v1/prices/sync_with_catalog/', { price_list_name: 'L' })
    }
    await sync(false)
    const refused = await revert({ revision: 3 })
    t.match(refused.body.errors, [{ code: 'product_inactive', cell: uk('A') }])
    await activate(shop, ['A'])
    t.match((await revert({ revision: 3 })).body, { added: 1, priced: 0 })
    t.strictSame(await prices(), { A: 1, B: 1 })
    t.equal((await rowsOf(shop, list)).find(({ code }) => code === 'A').pk, a.pk)
    await sync(false)
    await sync(true)
    const again = await revert({ revision: 5 })
    t.match(again.body.errors, [{ code: 'changed_since', cell: uk('A') }], 'it came back since')
  },
)

t.test('a row that came leaves, unless it was priced since', async (t) => {
  const { shop, list, revert, prices } = await aPricedList(t)
  t.match((await revert({ revision: 1 })).body.errors, [
    { code: 'changed_since' },
    { code: 'changed_since' },
  ])
  t.match((await revert({ to_revision: 0 })).body, { removed: 2, priced: 0 })
  t.strictSame(await prices(), {})
  t.match((await revert({ revision: 3 })).body, { added: 2 })
  t.strictSame(await prices(), { A: 1, B: 1 })
  t.equal((await rowsOf(shop, list, 'version=draft')).length, 2, 'the draft follows')
})

t.test(
  'a row of a calendar list that came stays if one of its days was priced since',
  async (t) => {
    const { shop, id } = await aFilledList(t, service, { is_calendar: true })
    await setPrices(shop, 'L', [{ ...uk('A'), date: '2026-12-24', price: 5 }])
    const refused = await shop.post(`/api/v1/price_list/${id}/revert/`, { revision: 1 })
    expectProblem(t, refused, 409, 'revert-conflict', 'priced since')
    t.match(refused.body.errors, [{ code: 'changed_since', cell: uk('A') }])
  },
)

t.test('nothing to undo makes no revision', async (t) => {
  const { revert } = await aPricedList(t)
  const nothing = { revision: 2, priced: 0, added: 0, removed: 0, skipped: 0 }
  t.strictSame((await revert({ to_revision: 2, void: true })).body, nothing)
})

t.test('above 100 products a job undoes it', async (t) => {
  const codes = Array.from({ length: 101 }, (_, index) => `P${index}`)
  const { shop, list } = await aFilledList(t, service, { codes })
  await setPrices(
    shop,
    'L',
    codes.map((code) => ({ ...uk(code), price: 3 })),
  )
  const path = `/api/v1/price_list/${list.id}/revert/`
  const { body } = await shop.post(path, { revision: 2 })
  const job = await shop.finished(body)
  t.match(job, { kind: 'revert', status: 'done', revision: 3 })
  t.strictSame(job.result, { revision: 3, priced: 101, added: 0, removed: 0, skipped: 0 })
  await setPrices(shop, 'L', [{ ...uk('P0'), price: 9 }])
  await setPrices(
    shop,
    'L',
    codes.map((code) => ({ ...uk(code), price: 4 })),
  )
  const failed = await shop.finished(
    (await shop.post(path, { revision: 3, on_conflict: 'skip' })).body,
  )
  t.match(failed.result, { priced: 0, skipped: 101 })
})

t.test('a conflict is known before a job is accepted', async (t) => {
  const codes = Array.from({ length: 101 }, (_, index) => `P${index}`)
  const { shop, list } = await aFilledList(t, service, { codes })
  await setPrices(
    shop,
    'L',
    codes.map((code) => ({ ...uk(code), price: 3 })),
  )
  const { body } = await shop.post(`/api/v1/price_list/${list.id}/revert/`, { revision: 2 })
  t.match(await shop.finished(body), { status: 'done' })
  await setPrices(shop, 'L', [{ ...uk('P0'), price: 9 }])
  const refused = await shop.post(`/api/v1/price_list/${list.id}/revert/`, { revision: 3 })
  expectProblem(t, refused, 409, 'revert-conflict', 'a call that can know it at once')
  t.equal((await shop.get(`/api/v1/price_list/${list.id}`)).body.revision, 4)
})

t.test('calls that make no sense are refused', async (t) => {
  const { shop, list, revert } = await aPricedList(t)
  for (const body of [
    {},
    { revision: 1, to_revision: 1 },
    { revision: 0 },
    { revision: 3 },
    { to_revision: 3 },
    { revision: 1, on_conflict: 'x' },
    { revision: '1' },
  ])
    expectProblem(t, await revert(body), 400, 'invalid-request', JSON.stringify(body))
  const { id } = await aList(shop, { name: 'draft' })
  const draft = await shop.post(`/api/v1/price_list/${id}/revert/`, { to_revision: 0 })
  expectProblem(t, draft, 409, 'price-list-not-published', 'draft')
  const other = await service.newAccount(t)
  const foreign = await other.post(`/api/v1/price_list/${list.id}/revert/`, { to_revision: 0 })
  expectProblem(t, foreign, 404, 'price-list-not-found', 'foreign')
})

t.test('a list that was made elsewhere is 409 and keeps its prices', async (t) => {
  const { list, revert, prices } = await aPricedList(t)
  await query(service.url, `update price_lists set origin = 'ui' where id = ${list.id}`)
  expectProblem(t, await revert({ revision: 2 }), 409, 'price-list-not-managed', 'made elsewhere')
  t.strictSame(await prices(), { A: 1, B: 1 })
})

t.test('a day of a restored row was unpriced while another row had its key', async (t) => {
  const year = { valid_from: '2026-12-01', valid_to: '2027-12-31', is_calendar: true }
  const { shop, id } = await aFilledList(t, service, year)
  const day = { ...uk('A'), date: '2026-12-05' }
  const remove = () =>
    shop.post('/api/v1/prices/bulk_remove_products/', {
      ...{ price_list_name: 'L', payload: [uk('A')] },
    })
  const revert = async (to_revision: number) =>
    (await shop.post(`/api/v1/price_list/${id}/revert/`, { to_revision })).body
  const difference = async (from: number, to: number) =>
    (await shop.get(`/api/v1/price_list/${id}/diff/?from=${from}&to=${to}`)).body.results
  await setPrices(shop, 'L', [{ ...day, price: 5 }])
  await remove()
  await addProducts(shop, 'L', [uk('A')])
  await remove()
  t.match(await revert(2), { revision: 6, added: 1 })
  t.match(await difference(4, 6), [{ change: 'priced', date: '2026-12-05', old: 0, new: 5 }])
  t.match(await revert(4), { revision: 7, priced: 1 })
  t.match((await rowsOf(shop, { id }, 'date=2026-12-05'))[0], { prices: { price: 0 } })
  await revert(6)
  await remove()
  t.strictSame(await difference(4, 9), [], 'a day without a price comes and goes unnoticed')
})
