import { once } from 'node:events'
import net from 'node:net'

/** A TCP proxy in front of PostgreSQL whose connections can be broken. */
export interface BreakableProxy {
  /** The same database, through the proxy. */
  through(url: string): string
  /** Resets every connection; new ones are taken. */
  cut(): void
  /** Passes nothing on in either direction, and closes nothing, until `resume`. */
  stall(): void
  resume(): void
  /** Takes no new connections (they are refused) until `resume`. */
  refuse(): Promise<void>
  /** Resets the next `count` writing connections that send COMMIT: right after it was passed on, its answer is lost. */
  cutAfterCommit(count: number): void
  /** How many connections were cut so. */
  cutCommits(): number
  close(): Promise<void>
}

/** A simple query or a parsed one that says `commit`, with the zero byte that ends its text. */
const commit = Buffer.from('commit\0')

/** The application names, in the first bytes of a connection, of those that write; a read's lost COMMIT says nothing. */
const writers = /pricewell (writes|streams|jobs)\0/

/** A socket that is reset while it is being ended is never closed, and the process then spins at its end (Node 26.10). */
function reset(socket: net.Socket): void {
  if (socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}

/** Starts a proxy on a port of its own in front of a Unix socket. */
export async function startProxy(socketPath: string): Promise<BreakableProxy> {
  const pairs = new Set<[net.Socket, net.Socket]>()
  let commitsToCut = 0
  let commitsCut = 0
  let isStalled = false
  const cutPair = (pair: [net.Socket, net.Socket]) => {
    pairs.delete(pair)
    reset(pair[0])
    pair[1].destroy()
  }
  const server = net.createServer((client) => {
    const upstream = net.connect(socketPath)
    const pair: [net.Socket, net.Socket] = [client, upstream]
    pairs.add(pair)
    for (const socket of pair) {
      socket.on('error', () => cutPair(pair))
      socket.on('close', () => cutPair(pair))
      if (isStalled) socket.pause()
    }
    let isWriter = false
    client.once('data', (bytes: Buffer) => {
      isWriter = writers.test(bytes.toString('latin1'))
    })
    client.on('data', (bytes: Buffer) => {
      upstream.write(bytes)
      if (!isWriter || commitsToCut === 0 || !bytes.includes(commit)) return
      commitsToCut--
      commitsCut++
      // The server reads what it was sent before it sees the end.
      upstream.removeAllListeners('data')
      upstream.resume()
      upstream.end()
      reset(client)
    })
    upstream.on('data', (bytes: Buffer) => client.write(bytes))
  })
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as net.AddressInfo).port
  }
  const port = await listen(0)
  const eachSocket = (work: (socket: net.Socket) => void) => {
    for (const socket of [...pairs].flat()) work(socket)
  }
  const cut = () => {
    for (const pair of [...pairs]) cutPair(pair)
  }
  return {
    through: (url) => {
      const { pathname, username, password } = new URL(url)
      return `postgresql://${username}:${password}@127.0.0.1:${port}${pathname}`
    },
    cut,
    stall: () => {
      isStalled = true
      eachSocket((socket) => socket.pause())
    },
    resume: async () => {
      isStalled = false
      eachSocket((socket) => socket.resume())
      if (!server.listening) await listen(port)
    },
    refuse: async () => {
      server.close()
      cut()
    },
    cutAfterCommit: (count) => {
      commitsToCut = count
    },
    cutCommits: () => commitsCut,
    close: async () => {
      cut()
      if (server.listening) server.close()
    },
  } as BreakableProxy
}
