import type { FastifyInstance, FastifyReply } from 'fastify'

/** A body is still arriving and the process ends. */
export const endingCode = 'ERR_PROCESS_ENDING'

/** Answers `unavailable` to the requests that are still arriving at `ending`. */
export function refuseLateUploads(app: FastifyInstance, ending: AbortSignal): void {
  const open = new Set<FastifyReply>()
  app.addHook('onRequest', async (_request, reply) => {
    open.add(reply)
    reply.raw.once('close', () => open.delete(reply))
  })
  ending.addEventListener('abort', () => {
    for (const { request, raw } of open) {
      if (request.raw.complete || raw.headersSent) continue
      const error = Object.assign(new Error('the process ends'), { code: endingCode })
      app.server.emit('clientError', error, request.raw.socket)
    }
  })
}
