import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { exchange, requestBytes } from '../helpers/exchange.ts'
import { startTestService, type TestService } from '../helpers/service.ts'

const isAlive = requestBytes('GET', '/health/live', '')

t.test('connections over SOCKETS are closed until one of the others ends', async (t) => {
  const port = await listen(await startTestService(t, { SOCKETS: '10' }))
  const sockets = Array.from({ length: 40 }, () => connect(t, port))
  const statuses = await Promise.all(sockets.map((socket) => exchange(socket, isAlive)))
  t.equal(statuses.filter((status) => status === 200).length, 10)
  t.equal(statuses.filter((status) => status === 0).length, 30)
  sockets.find((socket) => !socket.destroyed)?.destroy()
  while ((await exchange(connect(t, port), isAlive)) !== 200) await sleep(20)
  t.pass('then another is taken')
})

t.test('a port that another service has is refused', async (t) => {
  const port = await listen(await startTestService(t))
  await t.rejects(listen(await startTestService(t), port), { code: 'EADDRINUSE' })
})

async function listen({ app }: TestService, port = 0): Promise<number> {
  return Number(new URL(await app.listen({ port, host: '127.0.0.1' })).port)
}

function connect(t: Test, port: number): net.Socket {
  const socket = net.connect(port, '127.0.0.1').on('error', () => undefined)
  t.teardown(() => socket.destroy())
  return socket
}
