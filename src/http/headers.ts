import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isPathPrefix } from '../config.ts'
import type { ProblemType } from '../contract/problem.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The configured path prefix, '' for none. */
    basePath: string
  }
}

/** Defaults for every response: no cache stores prices, and no browser treats JSON as a page. */
export const protectiveHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** Sets the protective headers and `X-Request-Id`. */
export function setHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(protectiveHeaders).header('x-request-id', request.id)
    done()
  })
}

/** Swagger UI loads only from this service; it needs inline styles and images, but no inline scripts. */
export const documentationPolicy = [
  "default-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

/** The page loads only its own files: no inline scripts or styles, no text that becomes markup, no frames. */
export const pageHeaders = {
  'cache-control': 'no-cache',
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
}

/**
 * The path prefix under which the client sees the service, '' for none. A proxy strips it before forwarding a request;
 * its header `X-Forwarded-Prefix` wins over the configuration.
 */
export function pathPrefixOf({ headers, server }: FastifyRequest): string {
  const forwarded = headers['x-forwarded-prefix']
  const isGiven = typeof forwarded === 'string' && isPathPrefix(forwarded)
  return isGiven ? forwarded : server.basePath
}

/** The `Link` header of a problem: points to what its type means and what to do. */
export function helpLink(prefix: string, type: ProblemType): string {
  return `<${prefix}/docs/problems#${type}>; rel="help"`
}

/** Whether the request has `Prefer: respond-async` (RFC 7240). */
export function prefersJob({ headers }: FastifyRequest): boolean {
  const { prefer = '' } = headers
  return String(prefer)
    .split(',')
    .some((one) => /^\s*respond-async\s*(;|$)/i.test(one))
}

/** Adds the path prefix to the path in `Location`. */
export function prefixLocations(app: FastifyInstance, basePath: string): void {
  app.decorate('basePath', basePath)
  app.addHook('onSend', (request, reply, _payload, done) => {
    const location = reply.getHeader('location')
    if (String(location).startsWith('/'))
      reply.header('location', `${pathPrefixOf(request)}${location}`)
    done()
  })
}
