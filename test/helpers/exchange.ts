import type net from 'node:net'

export function requestBytes(method: string, path: string, token: string, body = ''): Buffer {
  const length = Buffer.byteLength(body)
  return Buffer.from(
    `${method} ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: jwt ${token}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`,
  )
}

/** Sends a request; returns its status, 0 when the connection broke. */
export async function exchange(socket: net.Socket, request: Buffer): Promise<number> {
  return statusOf(await exchangeHead(socket, request))
}

/** The status in the first bytes of a response; 0 when there is none. */
export const statusOf = (head: string) => Number(head.slice(9, 12))

/**
 * Sends a request on an idle keep-alive connection; resolves with the head when the last byte is there, '' when
 * the connection broke. A client library takes 0.2 ms, as long as a read of one price.
 */
export function exchangeHead(socket: net.Socket, request: Buffer): Promise<string> {
  return new Promise((resolve) => {
    let head = ''
    let isWhole: ((chunk: Buffer) => boolean) | undefined
    const onData = (chunk: Buffer) => {
      if (isWhole?.(chunk)) return done(head)
      if (isWhole) return
      head += chunk.toString('latin1')
      const end = head.indexOf('\r\n\r\n') + 4
      if (end < 4) return
      isWhole = endOf(head.slice(0, end))
      if (isWhole(Buffer.from(head.slice(end), 'latin1'))) done(head)
    }
    const onClose = () => done('')
    const done = (answered: string) => {
      socket.off('data', onData).off('close', onClose)
      if (/\r\nconnection: close/i.test(head)) socket.destroy()
      resolve(answered)
    }
    socket.on('data', onData).once('close', onClose)
    if (socket.destroyed) onClose()
    else socket.write(request)
  })
}

const lastChunk = '0\r\n\r\n'

/**
 * Returns a function that takes the chunks of a body and tells when it is complete. JSON cannot end like
 * `lastChunk`.
 */
function endOf(head: string): (chunk: Buffer) => boolean {
  if (/\r\ntransfer-encoding: chunked/i.test(head)) {
    let last = ''
    return (chunk) => {
      last = (last + chunk.toString('latin1', chunk.length - lastChunk.length)).slice(
        -lastChunk.length,
      )
      return last === lastChunk
    }
  }
  let missing = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
  return (chunk) => {
    missing -= chunk.length
    return missing <= 0
  }
}
