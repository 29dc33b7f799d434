import net from 'node:net'

/** Passes bytes on until it is told to be silent: then the connections stay open and nothing arrives. */
export async function openProxy(target: string) {
  const { hostname, port, searchParams } = new URL(target)
  let isSilent = false
  let lastWord: string | undefined
  const sockets = new Set<net.Socket>()
  const server = net.createServer((client) => {
    const host = searchParams.get('host')
    const upstream = host
      ? net.connect(`${host}/.s.PGSQL.${port || 5432}`)
      : net.connect(Number(port || 5432), hostname)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('data', (chunk: Buffer) => {
        if (lastWord && chunk.includes(lastWord)) isSilent = true
        if (!isSilent) to.write(chunk)
      })
      from.on('error', () => undefined).on('close', () => to.destroy())
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(target)
  url.searchParams.delete('host')
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as net.AddressInfo).port)
  return {
    url: url.toString(),
    silence: () => {
      isSilent = true
    },
    /** From when this is said. */
    silenceAt: (word: string) => {
      lastWord = word
    },
    speak: () => {
      isSilent = false
      lastWord = undefined
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
