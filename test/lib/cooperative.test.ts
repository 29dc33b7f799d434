import t from 'tap'
import { mapCooperatively, sortCooperatively, yieldToEventLoop } from '../../src/lib/cooperative.ts'

t.test('slices of different work are done one between two looks at the events', async (t) => {
  const done: string[] = []
  const work = async (name: string) => {
    for (let slice = 0; slice < 3; slice++) {
      await yieldToEventLoop()
      done.push(name)
    }
  }
  const all = Promise.all([work('a'), work('b'), work('c')])
  for (let look = 0; look < 9; look++) {
    await new Promise((resolve) => setImmediate(resolve))
    t.ok(done.length <= look + 1, `${done.length} slices after look ${look + 1}`)
  }
  await all
  t.equal(done.join(''), 'abcabcabc', 'each has its slices in turn')
})

t.test('work that is alone waits for nobody', async (t) => {
  for (let slice = 0; slice < 1000; slice++) await yieldToEventLoop()
  t.pass()
})

/** Keeps the process busy for longer than a slice. */
function spin(): void {
  const until = performance.now() + 20
  while (performance.now() < until);
}

t.test('maps in order', async (t) => {
  t.strictSame(await mapCooperatively([3, 1, 2], (item) => item * 2), [6, 2, 4])
  t.strictSame(await mapCooperatively([], () => 1), [])
})

t.test('others have their turn before costly work is done', async (t) => {
  const seen: string[] = []
  await mapCooperatively(['first', 'second', 'third'], (item) => {
    setImmediate(() => seen.push(`other after ${item}`))
    spin()
    seen.push(item)
  })
  const inTurns = ['first', 'other after first', 'second', 'other after second', 'third']
  t.strictSame(seen.slice(0, inTurns.length), inTurns)
})

t.test('what the mapping throws ends the work', async (t) => {
  const broken = mapCooperatively([1], () => {
    throw new Error('broken')
  })
  await t.rejects(broken, { message: 'broken' })
})

t.test('sorts by code units, as sort does, however many runs there are', async (t) => {
  for (const length of [0, 1, 10_000, 10_001, 35_000]) {
    const texts = Array.from({ length }, (_, i) => `${(i * 7919) % 10_007} ${'zé😀\uffff'[i % 5]}`)
    t.strictSame(await sortCooperatively(texts), [...texts].sort(), String(length))
  }
})

t.test('sorts by a comparison, and keeps the order of what it finds equal', async (t) => {
  const items = Array.from({ length: 25_000 }, (_, at) => ({ at, rank: at % 7 }))
  const byRank = (a: { rank: number }, b: { rank: number }) => a.rank - b.rank
  t.strictSame(await sortCooperatively(items, byRank), items.toSorted(byRank))
})

t.test('others have their turn before many texts are sorted', async (t) => {
  const seen: string[] = []
  setImmediate(() => seen.push('other'))
  await sortCooperatively(Array.from({ length: 20_000 }, (_, i) => String(20_000 - i)))
  seen.push('sorted')
  t.strictSame(seen, ['other', 'sorted'])
})
