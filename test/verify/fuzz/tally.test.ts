import t from 'tap'
import { Tally } from './tally.ts'

/** A tally of one operation, and of others that do not matter. */
function tallyOf({ good = 0, bad = 0, others = 0 }): Tally {
  const tally = new Tally()
  for (let count = 0; count < good; count++) tally.add('login', 200)
  for (let count = 0; count < bad; count++) tally.add('login', 401)
  for (let count = 0; count < others; count++) tally.add('no operation', 404)
  return tally
}

t.test('few good answers are chance in few inputs and a fault of the fuzzer in many', async (t) => {
  t.strictSame(tallyOf({ good: 5, bad: 54 }).poor(), [])
  t.strictSame(tallyOf({ good: 5, bad: 55 }).poor(), ['login'])
  t.strictSame(tallyOf({ good: 18, bad: 42 }).poor(), [])
})

t.test('that no answer at all is good is no chance', async (t) => {
  t.strictSame(tallyOf({ bad: 19 }).poor(), [])
  t.strictSame(tallyOf({ bad: 20 }).poor(), ['login'])
})

t.test('a long run names the operations that it never called', async (t) => {
  t.strictSame(tallyOf({ others: 9999 }).poor(), [])
  t.ok(tallyOf({ good: 1, others: 10_000 }).poor().includes('cancelJob'))
  t.notOk(tallyOf({ good: 1, others: 10_000 }).poor().includes('login'))
})
