import net, { type AddressInfo, type Socket } from 'node:net'
import type { FastifyInstance, FastifyListenOptions } from 'fastify'

declare module 'fastify' {
  interface FastifyInstance {
    listeners: Listeners
  }
}

/**
 * An event loop accepts one connection of each listener a turn. With one listener, under four times the load that the
 * service can take, half of the probes on new connections waited longer than 2.8 s and some 9 s, behind the new
 * connections of others; with 16 half of them 0.02 s, and none 0.5 s.
 */
const listenersOfPort = 16

/** Elsewhere ports are not shared, or all connections go to one of those who share it. */
const canShare = process.platform === 'linux'

/** What the app listens with. Its connections are all of the app's server, whichever listener has accepted them. */
export class Listeners {
  readonly #app: FastifyInstance
  readonly #others: net.Server[] = []
  /** Resolves when the connections have ended that the app does not wait for: those that others have accepted. */
  closed: Promise<unknown> = Promise.resolve()

  /** No more than so many connections at once. */
  constructor(app: FastifyInstance, socketsMax: number) {
    this.#app = app
    limitSockets(app, socketsMax)
    app.addHook('preClose', async () => {
      this.closed = Promise.all(this.#others.map(closeListener))
    })
  }

  /** The URL that the app listens at. Throws when it cannot, also when another program does. */
  async open(options: FastifyListenOptions): Promise<string> {
    if (!canShare) return this.#app.listen(options)
    const { port, host } = options
    if (port) await rejectTaken({ port, host })
    const shared = { ...options, reusePort: true }
    const url = await this.#app.listen(shared)
    await this.#openOthers(shared)
    return url
  }

  async #openOthers(shared: net.ListenOptions): Promise<void> {
    const { address: host, port } = this.#app.server.address() as AddressInfo
    for (let one = 1; one < listenersOfPort; one++) {
      const other = net.createServer({ allowHalfOpen: true, noDelay: true }, this.#accept)
      const listening = await listen(other, { ...shared, host, port }).catch(() => undefined)
      // Node before 22.12 does not share ports: then one has to do.
      if (!listening) return
      this.#others.push(other)
    }
  }

  readonly #accept = (socket: Socket) => {
    this.#app.server.emit('connection', socket)
  }
}

/** Connections over the limit are ended as they come. */
function limitSockets({ server }: FastifyInstance, socketsMax: number): void {
  let open = 0
  server.prependListener('connection', (socket: Socket) => {
    open++
    socket.once('close', () => open--)
    if (open > socketsMax) socket.destroy()
  })
}

/** Who shares a port is not told that another one does: a second service would take half of the first one's requests. */
async function rejectTaken(place: net.ListenOptions): Promise<void> {
  await closeListener(await listen(net.createServer(), place))
}

function listen(server: net.Server, options: net.ListenOptions): Promise<net.Server> {
  return new Promise((resolve, reject) => {
    server.on('error', reject).listen(options, () => resolve(server))
  })
}

function closeListener(server: net.Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()))
}
