import { Socket } from 'node:net'
import t from 'tap'
import { RefusalPace } from '../../src/http/refusal-pace.ts'

const waits = (pace: RefusalPace, sockets: Socket[], now: number) =>
  sockets.map((socket) => pace.waitMs(socket, now))

t.test(
  'who is refused for the first time is answered at once, however many they are',
  async (t) => {
    const pace = new RefusalPace({ perSecond: 10, waitMaxMs: 250 })
    const sockets = Array.from({ length: 5 }, () => new Socket())
    t.strictSame(waits(pace, sockets, 5000), [0, 0, 0, 0, 0])
  },
)

t.test(
  'those who come again too early wait for each other, but not longer than a bound',
  async (t) => {
    const pace = new RefusalPace({ perSecond: 10, waitMaxMs: 250 })
    const sockets = Array.from({ length: 5 }, () => new Socket())
    waits(pace, sockets, 5000)
    t.strictSame(waits(pace, sockets, 5100), [0, 100, 200, 250, 250])
    t.equal(pace.waitMs(new Socket(), 5100), 0, 'and nobody else does')
  },
)

t.test('few who come again too early are answered at once', async (t) => {
  const pace = new RefusalPace({ perSecond: 10, waitMaxMs: 250 })
  const socket = new Socket()
  t.strictSame(
    [5000, 5100, 5200, 5300].map((now) => pace.waitMs(socket, now)),
    [0, 0, 0, 0],
  )
})

t.test('who comes again when told to is answered at once', async (t) => {
  const pace = new RefusalPace({ perSecond: 1, waitMaxMs: 5000 })
  const [early, late] = [new Socket(), new Socket()]
  waits(pace, [early, late], 5000)
  t.strictSame(waits(pace, [early, early], 5500), [0, 1000])
  t.equal(pace.waitMs(late, 6000), 0)
  t.equal(pace.waitMs(early, 7000), 500, 'a second after the answer, not after the request')
})
