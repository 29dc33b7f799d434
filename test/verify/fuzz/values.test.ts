import t from 'tap'
import { drawing } from './draw.ts'
import { freshKey, freshName } from './values.ts'

t.test('fresh keys and fresh names are all different', async (t) => {
  for (const arbitrary of [freshKey, freshName]) {
    const draw = drawing(1)
    const drawn = Array.from({ length: 5000 }, () => draw(arbitrary))
    t.equal(new Set(drawn).size, drawn.length)
  }
})
