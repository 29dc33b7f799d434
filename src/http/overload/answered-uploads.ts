import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'

/** Who was refused has this long to read why, where the process ends meanwhile. */
const readMs = 500

/** Once the server closes, waits for nobody who has an answer and has not sent the whole body: it would be thrown away. */
export function endAnsweredUploads(app: FastifyInstance): void {
  const answered = new Set<IncomingMessage>()
  let isClosing = false
  const endSoon = (request: IncomingMessage) =>
    void setTimeout(() => {
      if (!request.complete) request.destroy()
    }, readMs).unref()
  app.addHook('onResponse', async ({ raw }) => {
    if (raw.complete || raw.destroyed) return
    if (isClosing) return endSoon(raw)
    answered.add(raw)
    for (const event of ['end', 'close']) raw.once(event, () => answered.delete(raw))
  })
  app.addHook('preClose', async () => {
    isClosing = true
    for (const request of answered) endSoon(request)
  })
}
