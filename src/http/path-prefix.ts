import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isPathPrefix } from '../config.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The path prefix of the configuration, '' without one. */
    basePath: string
  }
}

/**
 * The path below which the client sees the service, '' for none. A proxy removes it before it passes a request on; the
 * header of the proxy wins over the configuration.
 */
export function pathPrefixOf({ headers, server }: FastifyRequest): string {
  const forwarded = headers['x-forwarded-prefix']
  const isGiven = typeof forwarded === 'string' && isPathPrefix(forwarded)
  return isGiven ? forwarded : server.basePath
}

/** Puts the path prefix before the paths in `Location`. */
export function prefixLocations(app: FastifyInstance, basePath: string): void {
  app.decorate('basePath', basePath)
  app.addHook('onSend', (request, reply, _payload, done) => {
    const location = reply.getHeader('location')
    if (location !== undefined) reply.header('location', `${pathPrefixOf(request)}${location}`)
    done()
  })
}
