import t from 'tap'
import { readEvents } from '../../src/page/events.js'

async function events(pieces: string[]): Promise<object[]> {
  async function* arriving() {
    yield* pieces
  }
  const found = []
  for await (const event of readEvents(arriving())) found.push(event)
  return found
}

const text =
  'event: progress\ndata: {"a":1}\n\n: the job goes on\n\nevent: end\ndata: {"b": "x: y"}\n\n'
const expected = [
  { event: 'progress', data: '{"a":1}' },
  { event: 'end', data: '{"b": "x: y"}' },
]

t.test('events are read whole, in whatever pieces they arrive', async (t) => {
  for (const size of [1, 2, 3, 7, 50, 1000]) {
    const pieces = text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? []
    t.strictSame(await events(pieces), expected, `pieces of ${size}`)
  }
})

t.test('an event that was cut off is none', async (t) => {
  t.strictSame(await events([text.slice(0, -1)]), expected.slice(0, 1))
  t.strictSame(await events([]), [])
})
