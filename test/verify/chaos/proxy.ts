import { once } from 'node:events'
import net from 'node:net'

/** A TCP proxy in front of PostgreSQL that can break connections. */
export interface BreakableProxy {
  /** The same database, through the proxy. */
  through(url: string): string
  /** Resets every connection; new ones are accepted. */
  cut(): void
  /** Passes nothing on and closes nothing until `resume`. */
  stall(): void
  resume(): void
  /** Refuses new connections until `resume`. */
  refuse(): Promise<void>
  /** Resets the next `count` writing connections right after it passed on a COMMIT: the answer is lost. */
  cutAfterCommit(count: number): void
  /** Number of connections reset by `cutCommits`. */
  cutCommits(): number
  close(): Promise<void>
}

/** A simple query or a parse message with `commit` and its final zero byte. */
const commit = Buffer.from('commit\0')

/** Application names of writing connections in the startup message; a lost COMMIT of a read has no effect. */
const writers = /pricewell (writes|streams|jobs)\0/

/** Node 26.10 never closes a socket that is reset while it ends, and then spins at exit. */
function reset(socket: net.Socket): void {
  if (socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}

/** Starts a proxy on a free port in front of a Unix socket. */
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
      // Lets the server read what was sent before it sees the end.
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
