import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Tells answers that wait for others on their connection that the client is gone, as the first one is told. Node does
 * not before 24.21: what is counted until an answer's `close` would be counted for good.
 */
export function closeQueuedAnswers(server: Server): void {
  const queues = new WeakMap<Socket, Set<ServerResponse>>()
  const queueOf = (socket: Socket) => {
    const found = queues.get(socket)
    if (found) return found
    const queue = new Set<ServerResponse>()
    queues.set(socket, queue)
    socket.once('close', () => {
      for (const answer of queue) answer.destroy().emit('close')
    })
    return queue
  }
  server.prependListener('request', ({ socket }, answer: ServerResponse) => {
    if (answer.socket) return
    const queue = queueOf(socket).add(answer)
    answer.once('close', () => queue.delete(answer))
  })
}
