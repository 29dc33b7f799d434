import type { FastifyInstance } from 'fastify'
import { unavailable } from '../../contract/problem.ts'

/** Throws `unavailable` once the server closes: requests still come on connections that have not ended. */
export function rejectWhileClosing(app: FastifyInstance): () => void {
  let isClosing = false
  app.addHook('preClose', async () => {
    isClosing = true
  })
  return () => {
    if (isClosing) throw unavailable('The service is shutting down.')
  }
}
