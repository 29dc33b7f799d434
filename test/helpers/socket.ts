import { once } from 'node:events'
import net from 'node:net'
import type { TestResponse } from './conformant.ts'

/** A request that is written in pieces on its own connection. */
export interface OpenRequest {
  write(bytes: string | Buffer): void
  /** Waits for the whole response. */
  answer(): Promise<TestResponse>
  /** Closes the connection without waiting for the response. */
  abort(): Promise<void>
  /** Resolves when the connection has ended. */
  closed: Promise<unknown>
}

/** Connects, sends the head of a POST and waits until the server has read it. */
export async function openRequest(
  { server }: { server: net.Server },
  path: string,
  headers: Record<string, string>,
): Promise<OpenRequest> {
  const { port } = server.address() as net.AddressInfo
  const socket = net.connect(port, '127.0.0.1')
  socket.setEncoding('latin1')
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk
  })
  socket.on('error', () => undefined)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  await once(socket, 'connect')
  const lines = Object.entries({ host: 'a', 'content-type': 'application/json', ...headers })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const arrived = once(server, 'request')
  socket.write(`POST ${path} HTTP/1.1\r\n${head}\r\n`)
  await arrived
  return {
    write: (bytes) => socket.write(bytes),
    answer: async () => {
      for (;;) {
        const answer = parse(received)
        if (answer) return answer
        if (socket.destroyed) throw new Error(`no answer, but: ${received}`)
        await Promise.race([once(socket, 'data'), once(socket, 'close')])
      }
    },
    abort: async () => {
      socket.destroy()
      await closed
    },
    closed,
  }
}

function parse(received: string): TestResponse | undefined {
  const end = received.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [status = '', ...lines] = received.slice(0, end).split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => {
      const [name = '', ...value] = line.split(': ')
      return [name.toLowerCase(), value.join(': ')]
    }),
  )
  const body = received.slice(end + 4)
  if (body.length < Number(headers['content-length'] ?? 0)) return undefined
  const isJson = headers['content-type']?.includes('json')
  return { status: Number(status.split(' ')[1]), headers, body: isJson ? JSON.parse(body) : body }
}
