import net from 'node:net'
import { exchangeHead, requestBytes, statusOf } from '../../helpers/exchange.ts'

/** A keep-alive connection to a server. */
export interface Client {
  /**
   * Sends a request and waits for the last byte of the answer. Returns the head of the answer and what came with it.
   * Throws unless the status is 2xx.
   */
  send(request: Buffer): Promise<string>
  close(): void
}

/** Makes the bytes of a request. */
export type Prepare = (method: string, path: string, body?: string) => Buffer

export const prepareWith =
  (token: () => string): Prepare =>
  (method, path, body) =>
    requestBytes(method, path, token(), body)

/** Opens a connection for sequential requests; reconnects when the server has closed it as idle. */
export function openClient(url: string): Client {
  const { hostname, port } = new URL(url)
  const open = () =>
    net
      .connect(Number(port), hostname)
      .setNoDelay()
      // What the server sends when it closes does not answer the next request.
      .resume()
      .on('error', () => undefined)
  let socket = open()
  const send = async (request: Buffer) => {
    if (socket.destroyed) socket = open()
    const head = await exchangeHead(socket, request)
    const status = statusOf(head)
    if (status >= 200 && status < 300) return head
    throw new Error(`${request.toString('latin1', 0, 80).split('\r')[0]}: ${head.slice(0, 2000)}`)
  }
  return { send, close: () => socket.destroy() }
}
