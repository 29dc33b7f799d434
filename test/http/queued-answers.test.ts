import { once } from 'node:events'
import { createServer, IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import t from 'tap'
import { closeQueuedAnswers } from '../../src/http/client-error.ts'

t.test('an answer that waits behind another is closed with its connection', async (t) => {
  const server = createServer()
  closeQueuedAnswers(server)
  const socket = new Socket()
  const answers = Array.from({ length: 12 }, () => {
    const request = new IncomingMessage(socket)
    // As Node leaves it that has given the connection to an earlier one.
    const answer = new ServerResponse(request)
    server.emit('request', request, answer)
    return answer
  })
  answers[0]?.emit('close')
  t.equal(socket.listenerCount('close'), 1, 'however many there are')
  const closed = answers.slice(1).map((answer) => once(answer, 'close'))
  socket.destroy()
  t.equal((await Promise.all(closed)).length, 11)
  t.ok(answers[1]?.destroyed)
})
