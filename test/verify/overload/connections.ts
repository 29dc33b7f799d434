import net from 'node:net'
import { exchangeHead, statusOf } from '../../helpers/exchange.ts'

/** The answer to a request. */
export interface Reply {
  /** 0: the connection broke. */
  status: number
  /** Whether a refusal lacks Retry-After. */
  isBare: boolean
  ms: number
}

/** Statuses of an overloaded service. */
export const refused = new Set([429, 503])
const retryAfter = /\r\nretry-after: \d+\r\n/i

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
    const head = await exchangeHead(socket, request)
    const ms = performance.now() - began
    if (socket.destroyed) this.#all.delete(socket)
    else this.#idle.push(socket)
    const status = statusOf(head)
    return { status, isBare: refused.has(status) && !retryAfter.test(head), ms }
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
