import net from 'node:net'
import { exchange } from '../helpers/exchange.ts'

/** What came back for a request. */
export interface Reply {
  status: number
  ms: number
}

/** Keep-alive connections that write prepared bytes. */
export class Connections {
  readonly #port: number
  readonly #idle: net.Socket[] = []
  readonly #all = new Set<net.Socket>()

  constructor(port: number) {
    this.#port = port
  }

  get busy(): number {
    return this.#all.size - this.#idle.length
  }

  /** Sends a request on an idle connection, or on a new one. */
  async send(request: Buffer): Promise<Reply> {
    const socket = this.#idle.pop() ?? this.#open()
    const began = performance.now()
    const status = await exchange(socket, request)
    if (socket.destroyed) this.#all.delete(socket)
    else this.#idle.push(socket)
    return { status, ms: performance.now() - began }
  }

  close(): void {
    for (const socket of this.#all) socket.destroy()
  }

  #open(): net.Socket {
    const socket = net.connect(this.#port, '127.0.0.1').setNoDelay()
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.#all.delete(socket)
      const at = this.#idle.indexOf(socket)
      if (at >= 0) this.#idle.splice(at, 1)
    })
    this.#all.add(socket)
    return socket
  }
}
