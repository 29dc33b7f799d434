import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'

/**
 * A proxy that treats connection `options` as PgBouncer does: refuses them, or drops them
 * (`ignore_startup_parameters`). Returns its URL.
 */
export async function openPooler(
  t: Test,
  target: string,
  kind: 'refusing' | 'dropping',
): Promise<string> {
  const sockets = new Set<Socket>()
  const pooler = createServer((client) => {
    const server = connectTo(target)
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const)
      sockets.add(from.on('error', () => undefined).on('close', () => to.destroy()))
    client.once('data', (startup: Buffer) => {
      if (kind === 'refusing') return client.end(refusal)
      server.write(withoutOptions(startup))
      client.pipe(server)
      return server.pipe(client)
    })
  })
  pooler.listen(0, '127.0.0.1')
  await once(pooler, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    pooler.close()
  })
  const url = new URL(target)
  url.searchParams.delete('host')
  url.hostname = '127.0.0.1'
  url.port = String((pooler.address() as AddressInfo).port)
  return url.toString()
}

function connectTo(target: string): Socket {
  const { hostname, port, searchParams } = new URL(target)
  const host = searchParams.get('host')
  return host
    ? connect(`${host}/.s.PGSQL.${searchParams.get('port') ?? (port || 5432)}`)
    : connect(Number(port || 5432), hostname)
}

const refusal = message('E', 'SFATAL\0C08P01\0Munsupported startup parameter: options\0\0')

function message(type: string, body: string): Buffer {
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(Buffer.byteLength(body) + 4, 1)
  return Buffer.concat([head, Buffer.from(body)])
}

/** The startup message of a connection: length, protocol version, names and values. */
function withoutOptions(startup: Buffer): Buffer {
  const fields = startup.subarray(8).toString().split('\0')
  const kept = fields.flatMap((field, index) =>
    index % 2 === 0 && field !== 'options' ? [field, fields[index + 1]] : [],
  )
  const body = Buffer.from(`${kept.slice(0, -2).join('\0')}\0\0`)
  const head = Buffer.from(startup.subarray(0, 8))
  head.writeInt32BE(body.length + 8)
  return Buffer.concat([head, body])
}
