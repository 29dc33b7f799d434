import net from 'node:net'
import { exchange, requestBytes } from '../../helpers/exchange.ts'

const isReady = requestBytes('GET', '/health/ready', '')
const pauseMs = 100

/** How long `GET /health/ready` takes on a new connection while `work` goes on. */
export async function probeWhile<T>(port: number, work: () => Promise<T>) {
  const ms: number[] = []
  const probe = async () => {
    const began = performance.now()
    const socket = net.connect(port, '127.0.0.1').on('error', () => undefined)
    const status = await exchange(socket, isReady)
    socket.destroy()
    ms.push(status === 200 ? performance.now() - began : Number.POSITIVE_INFINITY)
  }
  const probes: Promise<void>[] = []
  const timer = setInterval(() => probes.push(probe()), pauseMs)
  const result = await work()
  clearInterval(timer)
  await Promise.all(probes)
  return { result, ms }
}
