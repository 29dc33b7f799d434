import net from 'node:net'

/** What came back for a request. */
export interface Reply {
  status: number
  ms: number
}

/**
 * Keep-alive connections that write prepared bytes and look at nothing but the status and the length of the answer: a
 * client library would take as much of the processor as the service.
 */
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
    socket.write(request)
    const status = await readStatus(socket)
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

/** The status of the next answer, when all of it is there; 0 when the connection broke. */
function readStatus(socket: net.Socket): Promise<number> {
  return new Promise((resolve) => {
    let head = ''
    let missing: number | undefined
    const onData = (chunk: Buffer) => {
      if (missing === undefined) {
        head += chunk.toString('latin1')
        const end = head.indexOf('\r\n\r\n')
        if (end < 0) return
        missing = contentLength(head) - (head.length - end - 4)
      } else missing -= chunk.length
      if (missing <= 0) done(Number(head.slice(9, 12)))
    }
    const onClose = () => done(0)
    const done = (status: number) => {
      socket.off('data', onData).off('close', onClose)
      resolve(status)
    }
    socket.on('data', onData).once('close', onClose)
  })
}

function contentLength(head: string): number {
  return Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
}

/** The bytes of a request. */
export function requestBytes(method: string, path: string, token: string, body = ''): Buffer {
  const length = Buffer.byteLength(body)
  return Buffer.from(
    `${method} ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: jwt ${token}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`,
  )
}
