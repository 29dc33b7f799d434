import http from 'node:http'

/** A keep-alive connection to the service; `fetch` would cost as much as a small read. */
export interface Client {
  /** Sends one request and answers the body's text; throws unless the service answers 2xx. */
  send(method: string, path: string, body?: string): Promise<string>
  /** As `send`, and lets the answer pass by: for answers so large that keeping them would be the work measured. */
  drain(method: string, path: string, body?: string): Promise<void>
  close(): void
}

/** Opens a connection on which requests go one after the other. */
export function openClient(url: string, token: () => string): Client {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  const request = (method: string, path: string, body?: string) =>
    new Promise<http.IncomingMessage>((resolve, reject) => {
      const headers = {
        authorization: `jwt ${token()}`,
        ...(body !== undefined && {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        }),
      }
      http
        .request(url + path, { agent, method, headers }, resolve)
        .on('error', reject)
        .end(body)
    })
  const send = async (method: string, path: string, body?: string) => {
    const response = await request(method, path, body)
    const text = Buffer.concat(await response.toArray()).toString()
    const status = response.statusCode ?? 0
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text.slice(0, 500)}`)
    return text
  }
  const drain = async (method: string, path: string, body?: string) => {
    const response = await request(method, path, body)
    for await (const _ of response);
    if ((response.statusCode ?? 0) >= 300)
      throw new Error(`${method} ${path}: ${response.statusCode}`)
  }
  return { send, drain, close: () => agent.destroy() }
}
