import net from 'node:net'
import { exchange, requestBytes } from '../../helpers/exchange.ts'

/** A keep-alive connection to the service. */
export interface Client {
  /** Sends a request and waits for the last byte of the answer; throws unless it is 2xx. */
  send(method: string, path: string, body?: string): Promise<void>
  close(): void
}

/** Opens a connection for sequential requests; reconnects when the service has closed it as idle. */
export function openClient(url: string, token: () => string): Client {
  const { hostname, port } = new URL(url)
  const open = () =>
    net
      .connect(Number(port), hostname)
      .setNoDelay()
      // What the service sends when it closes does not answer the next request.
      .resume()
      .on('error', () => undefined)
  let socket = open()
  const send = async (method: string, path: string, body?: string) => {
    if (socket.destroyed) socket = open()
    const status = await exchange(socket, requestBytes(method, path, token(), body))
    if (status < 200 || status >= 300) throw new Error(`${method} ${path}: ${status}`)
  }
  return { send, close: () => socket.destroy() }
}
