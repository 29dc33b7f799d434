import t from 'tap'
import { mapInTurns } from '../../src/contract/in-turns.ts'

/** Keeps the process busy for longer than a slice. */
function spin(): void {
  const until = performance.now() + 20
  while (performance.now() < until);
}

t.test('maps in order', async (t) => {
  t.strictSame(await mapInTurns([3, 1, 2], (item) => item * 2), [6, 2, 4])
  t.strictSame(await mapInTurns([], () => 1), [])
})

t.test('others have their turn before costly work is done', async (t) => {
  const seen: string[] = []
  setImmediate(() => seen.push('other'))
  await mapInTurns(['first', 'second', 'third'], (item) => {
    spin()
    seen.push(item)
  })
  t.strictSame(seen, ['first', 'other', 'second', 'third'])
})

t.test('what the mapping throws ends the work', async (t) => {
  const broken = mapInTurns([1], () => {
    throw new Error('broken')
  })
  await t.rejects(broken, { message: 'broken' })
})
