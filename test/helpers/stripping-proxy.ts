import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/**
 * A proxy that serves `target` below a prefix only: it strips the prefix and, if told to, sends it in a header.
 * Returns its URL with the prefix.
 */
export async function startStrippingProxy(
  t: Test,
  target: string,
  { prefix, saysSo }: { prefix: string; saysSo: boolean },
): Promise<string> {
  const proxy = createServer((received, answer) => {
    const { url = '', method, headers } = received
    if (!url.startsWith(`${prefix}/`)) return answer.writeHead(404).end('not below the prefix')
    const forwarded = saysSo ? { 'x-forwarded-prefix': prefix } : {}
    const sent = request(target + url.slice(prefix.length), {
      ...(method && { method }),
      headers: { ...headers, ...forwarded },
    })
    sent.once('response', (answered) => {
      answer.writeHead(answered.statusCode ?? 0, answered.headers)
      answered.pipe(answer)
    })
    sent.once('error', () => answer.destroy())
    received.pipe(sent)
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.teardown(() => {
    proxy.close()
    proxy.closeAllConnections()
  })
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${prefix}`
}
