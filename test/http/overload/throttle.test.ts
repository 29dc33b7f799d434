import { EventEmitter, once } from 'node:events'
import { Agent, createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { RefusalPace } from '../../../src/http/overload/throttle.ts'

/** Requests whose connections tell whether they are read. */
function requests(count: number) {
  return Array.from({ length: count }, () => {
    const request = new EventEmitter() as EventEmitter & { isRead: boolean }
    const tell = (isRead: boolean) => () => {
      request.isRead = isRead
    }
    const _handle = { readStop: tell(false), readStart: tell(true) }
    return Object.assign(request, { isRead: true, socket: { _handle } })
  })
}

type Refused = ReturnType<typeof requests>

/** Which of the connections are read once all requests were refused and are whole. */
function refuse(pace: RefusalPace, refused: Refused, account = 1): boolean[] {
  for (const request of refused) pace.count(account, request as never as IncomingMessage)
  t.ok(refused.every(({ isRead }) => isRead))
  for (const request of refused) request.emit('close')
  return refused.map(({ isRead }) => isRead)
}

t.test('few refusals hold no connection', async (t) => {
  let now = 5000
  t.intercept(performance, 'now', { value: () => now })
  const pace = new RefusalPace({ perSecond: 10, holdMaxMs: 250 })
  for (; now < 5500; now += 100) t.strictSame(refuse(pace, requests(1)), [true])
})

t.test('of many, connections are held one after the other, none longer than a bound', async (t) => {
  let now = 5000
  t.intercept(performance, 'now', { value: () => now })
  const pace = new RefusalPace({ perSecond: 10, holdMaxMs: 250 })
  const refused = requests(5)
  t.strictSame(refuse(pace, refused), [true, false, false, false, false])
  const readAt = async (ms: number) => {
    now = 5000 + ms
    await sleep(60)
    return refused.map(({ isRead }) => isRead)
  }
  t.strictSame(await readAt(99), [true, false, false, false, false])
  t.strictSame(await readAt(100), [true, true, false, false, false])
  t.strictSame(await readAt(249), [true, true, true, false, false])
  t.strictSame(await readAt(250), [true, true, true, true, true])
  t.strictSame(refuse(pace, requests(1)), [false], 'and who comes then is held after them')
})

t.test('the refusals of one account hold no connection of another', async (t) => {
  t.intercept(performance, 'now', { value: () => 1000 })
  const pace = new RefusalPace({ perSecond: 10, holdMaxMs: 250 })
  t.strictSame(refuse(pace, requests(3), 1), [true, false, false])
  t.strictSame(refuse(pace, requests(2), 2), [true, false])
})

/** A server that refuses everybody, and its answers to a client with one connection. */
async function refusingServer(t: Test, pace: RefusalPace) {
  const server = createServer((request, response) => {
    pace.count(1, request)
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  t.teardown(() => server.close())
  return () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    t.teardown(() => agent.destroy())
    return async () => {
      const [response] = await once(get({ port, agent }), 'response')
      await once(response.resume(), 'end')
    }
  }
}

t.test('a connection that is held is answered later, and others are at once', async (t) => {
  const pace = new RefusalPace({ perSecond: 0.1, holdMaxMs: 1500 })
  const newClient = await refusingServer(t, pace)
  const client = newClient()
  await client()
  await client()
  const held = client().then(() => 'held')
  const other = newClient()().then(() => 'other')
  t.equal(await Promise.race([held, other]), 'other')
  t.equal(await held, 'held')
})

t.test('a client that goes while its connection is held does no harm', async (t) => {
  const pace = new RefusalPace({ perSecond: 0.1, holdMaxMs: 100 })
  const newClient = await refusingServer(t, pace)
  const request = Object.assign(new EventEmitter(), { socket: { _handle: null } })
  for (const _ of [1, 2, 3]) {
    pace.count(1, request as never as IncomingMessage)
    request.emit('close')
  }
  await sleep(150)
  await newClient()()
  t.pass('others are answered')
})
