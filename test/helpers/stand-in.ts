import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import type { Test } from 'tap'

/**
 * The answer to one request. `destroy`: the connection breaks, `ends`: how, after this part of the body;
 * `silence`: no answer.
 */
export type StandInAnswer =
  | { status: number; headers?: Record<string, string>; body?: unknown; ends?: 'cut' | 'never' }
  | 'destroy'
  | 'silence'

/** A server that gives these answers in order, the last one for ever, and keeps the requests. */
export async function standIn(
  t: Test,
  answers: StandInAnswer[],
): Promise<{ url: string; requests: (IncomingMessage & { text: string })[] }> {
  const requests: (IncomingMessage & { text: string })[] = []
  const server = createServer(async (request, response) => {
    const sent = Buffer.concat(await request.toArray()).toString()
    const answer = answers[Math.min(requests.length, answers.length - 1)]
    requests.push(Object.assign(request, { text: sent }))
    if (answer === undefined || answer === 'destroy') return request.socket.destroy()
    if (answer === 'silence') return undefined
    const { status, headers = {}, body, ends } = answer
    const isProblem = status >= 400
    response.writeHead(status, {
      'content-type': isProblem ? 'application/problem+json' : 'application/json',
      ...headers,
    })
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    if (ends === undefined) return response.end(text)
    return response.write(text, () => ends === 'cut' && request.socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}

/**
 * An address of this machine where nothing listens. A connection leaves from it until the test ends,
 * so that no other process can begin to listen there.
 */
export async function nothingThere(t: Test): Promise<string> {
  const server = createTcpServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const connection = connect((server.address() as AddressInfo).port, '127.0.0.1')
  await once(connection, 'connect')
  t.teardown(() => {
    connection.destroy()
    server.close()
  })
  return `http://127.0.0.1:${connection.localPort}`
}
