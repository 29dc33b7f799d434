import t from 'tap'
import { nextTurn } from '../../src/lib/cooperative.ts'

t.test('slices of different work are done one between two looks at the events', async (t) => {
  const done: string[] = []
  const work = async (name: string) => {
    for (let slice = 0; slice < 3; slice++) {
      await nextTurn()
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
  for (let slice = 0; slice < 1000; slice++) await nextTurn()
  t.pass()
})
