import assert from 'node:assert/strict'
import type { FirstDay } from './days/first-day.ts'

/** Throws unless the answers of the first day's work are as the contract promises. */
export function checkFirstDay(day: FirstDay): void {
  assert.deepEqual(day.letters, ['B', 'C', 'D'])
  assert.equal(day.products.created.length, 2)
  assert.deepEqual(
    day.catalog.map(({ code, active }) => ({ code, active })),
    [
      { code: '85123A', active: true },
      { code: '85123A', active: true },
    ],
  )
  assert.deepEqual(
    day.lists.map(({ name }) => name),
    ['Retail'],
  )
  assert.equal(day.added.length, 2)
  assert.deepEqual(day.updated, day.added.slice(0, 1))
  assert.deepEqual(day.attributes, day.updated)
  checkPrices(day)
  assert.deepEqual(day.fault, {
    type: 'invalid-request',
    faults: ['/payload/0/code row_not_in_list'],
  })
  assert.equal(day.sales.length, 1)
  assert.deepEqual(day.replayedSales, day.sales)
  assert.deepEqual(day.dimensions, ['code', 'country'])
  assert.match(day.competitors.created.join(), /^[0-9a-f]{64}$/)
  assert.deepEqual(day.agreement.prices, { retail: 2.2 })
  assert.equal(day.promotions.created.length, 1)
  assert.deepEqual([...day.sync.untouched].sort(byNumber), [...day.added].sort(byNumber))
  assert.deepEqual(day.job, { status: 'done', total: 122, added: 120 })
  checkSecondDay(day)
}

function checkSecondDay({ secondDay, updated }: FirstDay): void {
  const { planned, applied, kinds, difference, reverted, repriced, position } = secondDay
  assert.equal(planned.changed, 1)
  assert.deepEqual(applied, updated)
  assert.deepEqual(kinds, ['update_prices', 'sync'])
  assert.deepEqual(
    difference.map((cell) => [cell.code, cell.old, cell.new]),
    [['85123A', 2.55, 2.6]],
  )
  assert.deepEqual([reverted.priced, reverted.skipped], [1, 0])
  assert.equal(repriced.changed, 1)
  const [found] = position
  assert.deepEqual(
    [found?.competition?.lowest, found?.competition?.rank, found?.competition?.gap_percent],
    [2.39, 2, 6.694561],
  )
  assert.equal(found?.sales?.transactions, 0)
  assert.deepEqual(secondDay.sales, { deleted: 1, absent: 1 })
  assert.equal(secondDay.removed.length, 1)
}

function checkPrices({ prices, promoted }: FirstDay): void {
  assert.deepEqual(
    prices.map(({ active_price, base_price, margin }) => [active_price, base_price, margin]),
    [
      [0, 0, null],
      [2.55, 2.55, 56.862745],
    ],
  )
  assert.equal(promoted[0]?.active_price, 2.04)
  assert.deepEqual(promoted[0]?.promotions, [{ name: 'Black Friday', value: 2.04 }])
}

const byNumber = (a: number, b: number) => a - b
