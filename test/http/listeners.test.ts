import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { exchange, requestBytes } from '../helpers/exchange.ts'
import { holdableSales } from '../helpers/held-sales.ts'
import { startTestService, type TestService } from '../helpers/service.ts'

const sale = (id: string) =>
  `[{"transaction_id":"${id}","code":"A","extension":"","quantity":"1","revenue":"1"}]`
const sales = '/api/v1/sales_history/bulk_create_or_update'
const isAlive = requestBytes('GET', '/health/live', '')

t.test(
  'a port has 16 listeners: an event loop accepts one connection of each a turn',
  async (t) => {
    const service = await startTestService(t)
    const port = await open(service)
    t.equal(listenersAt(port), 16)
    await service.close()
    t.equal(listenersAt(port), 0)
  },
)

t.test('what is under way is finished, whichever listener has accepted it', async (t) => {
  const service = await startTestService(t, { ACCOUNT_WRITES: '1' })
  const { token } = await service.newAccount(t)
  const port = await open(service)
  const held = await holdableSales(t, service.url)
  await held.hold()
  const statuses: Promise<number>[] = []
  for (const id of ['A', 'B']) {
    const socket = await connectBeside(t, service, port)
    const arrived = once(service.app.server, 'request')
    statuses.push(exchange(socket, requestBytes('POST', sales, token, sale(id))))
    await arrived
  }
  await held.untilHeld()
  const closed = service.close()
  while (listenersAt(port) > 0) await sleep(20)
  // As long as it takes to close what an app that has closed does not need any more.
  await sleep(500)
  await held.release()
  t.strictSame(await Promise.all(statuses), [201, 201], 'also what waited for its turn')
  await closed
})

t.test('SOCKETS counts the connections of all listeners', async (t) => {
  const service = await startTestService(t, { SOCKETS: '10' })
  const port = await open(service)
  const connections = 40
  const sockets = Array.from({ length: connections }, () => connect(t, port))
  const statuses = await Promise.all(sockets.map((socket) => exchange(socket, isAlive)))
  t.equal(statuses.filter((status) => status === 200).length, 10)
  t.equal(statuses.filter((status) => status === 0).length, connections - 10)
  sockets.find((socket) => !socket.destroyed)?.destroy()
  while ((await exchange(connect(t, port), isAlive)) !== 200) await sleep(20)
  t.pass('one has gone, another may come')
})

t.test('a port that another service has is not shared with it', async (t) => {
  const [first, second] = [await startTestService(t), await startTestService(t)]
  const port = await open(first)
  await t.rejects(open(second, port), { code: 'EADDRINUSE' })
  t.equal(listenersAt(port), 16)
})

async function open({ app }: TestService, port = 0): Promise<number> {
  return Number(new URL(await app.listeners.open({ port, host: '127.0.0.1' })).port)
}

function connect(t: Test, port: number): net.Socket {
  const socket = net.connect(port, '127.0.0.1').on('error', () => undefined)
  t.teardown(() => socket.destroy())
  return socket
}

/** A connection that the server itself has not accepted, but a listener beside it. */
async function connectBeside(t: Test, { app: { server } }: TestService, port: number) {
  for (;;) {
    const socket = connect(t, port)
    await once(server, 'connection')
    const own = await promisify(server.getConnections.bind(server))()
    if (own === 0) return socket
    socket.destroy()
    await sleep(20)
  }
}

/** How many sockets of this machine listen at a port of 127.0.0.1. */
function listenersAt(port: number): number {
  const address = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const listening = '0A'
  const lines = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
  return lines.filter(([, local, , state]) => local === address && state === listening).length
}
