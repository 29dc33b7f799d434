import t from 'tap'
import { HeldRows } from '../../src/prices/read/price-rows.ts'

t.test('no more is written than is held, however many parts are written at once', async (t) => {
  const row = 'x'.repeat(100_000)
  let length = 0
  const held = new HeldRows(() => {
    length += row.length
    return row
  })
  const found = Array.from({ length: 100 }, () => ({ at: 0 }))
  const write = () => held.write([{}] as never, found as never)
  await Promise.all(Array.from({ length: 6 }, write))
  t.equal(held.areTooLong, false, 'sixty million characters')
  await Promise.all(Array.from({ length: 30 }, write))
  t.equal(held.areTooLong, true)
  t.ok(length < 65_000_000, `${length} characters`)
})
